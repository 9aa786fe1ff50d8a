import { BlockList, isIP } from 'node:net'
import { engineFault } from '../engine/engine-fault.ts'
import { canonicalAddress, familyOf } from './address.ts'

/** Parses an address or a prefix, such as '10.0.0.0/8'. Throws EngineFault EINVAL. */
export function parsePrefix(cidr: string): BlockList {
  const [, address = '', length] = /^([^/]+)(?:\/(\d{1,3}))?$/.exec(cidr) ?? []
  const family = familyOf(canonicalAddress(address))
  const full = family === 'ipv4' ? 32 : 128
  // The length of an IPv4-mapped prefix includes the 96 bits before the IPv4 address.
  const skipped = family === 'ipv4' && address.includes(':') ? 96 : 0
  const bits = length === undefined ? full : Number(length) - skipped
  if (isIP(address) === 0 || bits < 0 || bits > full)
    throw engineFault('EINVAL', `${cidr} is not an address prefix`)
  const list = new BlockList()
  list.addSubnet(canonicalAddress(address), bits, family)
  return list
}
