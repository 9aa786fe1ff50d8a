import { BlockList, isIP } from 'node:net'
import { engineFault, type Filter, type Filters, type Match } from '../engine/engine.ts'
import { canonicalAddress, familyOf } from './address.ts'

/**
 * Checks a canonical address, its port, and the DNS name that it was resolved from (null: none). Returns the reason of a
 * refusal, or null.
 */
export type FilterCheck = (address: string, port: number, host: string | null) => string | null

export interface CompiledFilters {
  readonly source: FilterCheck
  readonly target: FilterCheck
}

/** Compiles the filters of a rule. Throws EngineFault EINVAL for an invalid address prefix. */
export function compileFilters({ source, target }: Pick<Filters, 'source' | 'target'>): CompiledFilters {
  const checks = target.map(compileFilter)
  return {
    source: source ? compileFilter(source) : () => null,
    target(address, port, host) {
      for (const check of checks) {
        const refusal = check(address, port, host)
        if (refusal !== null) return refusal
      }
      return null
    }
  }
}

type Matcher = (address: string, port: number, host: string | null) => boolean

function compileFilter({ allow, deny, refusal }: Filter): FilterCheck {
  const denied = deny.map(matcherOf)
  const allowed = allow?.map(matcherOf)
  return (address, port, host) => {
    const matches = (matcher: Matcher) => matcher(address, port, host)
    if (denied.some(matches)) return refusal
    return !allowed || allowed.some(matches) ? null : refusal
  }
}

function matcherOf({ cidr, host: name, ports }: Match): Matcher {
  const prefix = cidr === undefined ? null : parsePrefix(cidr)
  return (address, port, host) =>
    (prefix === null || prefix.check(address, familyOf(address))) &&
    (name === undefined || name === host) &&
    (ports === undefined || (port >= ports[0] && port <= ports[1]))
}

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
