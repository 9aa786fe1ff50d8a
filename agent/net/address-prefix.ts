import { BlockList, isIP } from 'node:net'
import { engineFault } from '../engine/engine-fault.ts'
import { canonicalAddress, familyOf } from './address.ts'

/** Parses addresses and prefixes, such as '10.0.0.0/8'. Throws EngineFault EINVAL. */
export function parsePrefixes(cidrs: readonly string[]): BlockList {
  const list = new BlockList()
  for (const cidr of cidrs) addPrefix(list, cidr)
  return list
}

function addPrefix(list: BlockList, cidr: string): void {
  const [, address = '', length] = /^([^/]+)(?:\/(\d{1,3}))?$/.exec(cidr) ?? []
  const family = familyOf(canonicalAddress(address))
  const full = family === 'ipv4' ? 32 : 128
  // The length of an IPv4-mapped prefix includes the 96 bits before the IPv4 address.
  const skipped = family === 'ipv4' && address.includes(':') ? 96 : 0
  const bits = length === undefined ? full : Number(length) - skipped
  if (isIP(address) === 0 || bits < 0 || bits > full)
    throw engineFault('EINVAL', `${cidr} is not an address prefix`)
  list.addSubnet(canonicalAddress(address), bits, family)
}
