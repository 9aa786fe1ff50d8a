import { BlockList, isIP } from 'node:net'
import type { Filter, Filters, Match } from '../engine.ts'
import { fault } from '../portable-engine/engine-fault.ts'
import { canonical, familyOf } from './address.ts'

/** A canonical address and its port; the name, when it was reached by one. The reason of a refusal, or null. */
export type Judge = (address: string, port: number, host: string | null) => string | null

export interface Judges {
  readonly source: Judge
  readonly target: Judge
}

export function compile({ source, target }: Filters): Judges {
  const all = target.map(judgeOf)
  return {
    source: source ? judgeOf(source) : () => null,
    target(address, port, host) {
      for (const judge of all) {
        const refusal = judge(address, port, host)
        if (refusal !== null) return refusal
      }
      return null
    }
  }
}

type Test = (address: string, port: number, host: string | null) => boolean

function judgeOf({ allow, deny, refusal }: Filter): Judge {
  const denied = deny.map(testOf)
  const allowed = allow?.map(testOf)
  return (address, port, host) => {
    const fits = (test: Test) => test(address, port, host)
    if (denied.some(fits)) return refusal
    return !allowed || allowed.some(fits) ? null : refusal
  }
}

function testOf({ cidr, host: name, ports }: Match): Test {
  const prefix = cidr === undefined ? null : prefixOf(cidr)
  return (address, port, host) =>
    (prefix === null || prefix.check(address, familyOf(address))) &&
    (name === undefined || name === host) &&
    (ports === undefined || (port >= ports[0] && port <= ports[1]))
}

function prefixOf(cidr: string): BlockList {
  const [, address = '', length] = /^([^/]+)(?:\/(\d{1,3}))?$/.exec(cidr) ?? []
  const family = familyOf(canonical(address))
  const full = family === 'ipv4' ? 32 : 128
  // The length of an IPv4-mapped prefix counts the 96 bits before it.
  const skipped = family === 'ipv4' && address.includes(':') ? 96 : 0
  const bits = length === undefined ? full : Number(length) - skipped
  if (isIP(address) === 0 || bits < 0 || bits > full) throw fault('EINVAL', `${cidr} is no address prefix`)
  const list = new BlockList()
  list.addSubnet(canonical(address), bits, family)
  return list
}
