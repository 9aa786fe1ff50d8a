// Names to addresses, for the engine's questions: the machine's hosts file, what is still known, then DNS.
import { isIP } from 'node:net'
import type { Clock } from '../../kernel/base/clock.ts'
import type { Resolved } from '../engine.ts'
import { openCache } from './cache.ts'
import { dnsLookup, type Lookup, lookUpAddresses } from './dns.ts'
import { openHosts } from './hosts.ts'

export interface Resolver {
  /** IPv4 before IPv6, each in the order of its answer. Who wants IPv6 first, or turns, orders for himself. */
  resolve(host: string): Promise<Resolved>
}

export interface ResolverOptions {
  readonly clock: Clock
  readonly lookup?: Lookup
  readonly hosts?: string // a file as /etc/hosts is
}

const maxInFlight = 64

export function openResolver({ clock, lookup = dnsLookup(), hosts }: ResolverOptions): Resolver {
  const addressesInHosts = openHosts(hosts)
  const cache = openCache(clock)
  const inFlight = new Map<string, Promise<Resolved>>()

  function ask(name: string): Promise<Resolved> | Resolved {
    if (inFlight.size >= maxInFlight) return cache.stale(name) ?? { ok: false, reason: 'overloaded' }
    const answer = lookUpAddresses(name, lookup, clock).then(found => {
      inFlight.delete(name)
      return cache.keep(name, found)
    })
    inFlight.set(name, answer)
    return answer
  }

  return {
    async resolve(host) {
      if (isIP(host) !== 0) return { ok: true, addresses: [host] }
      const name = host.toLowerCase().replace(/\.$/, '')
      const addresses = addressesInHosts(name)
      if (addresses) return { ok: true, addresses }
      return cache.fresh(name) ?? inFlight.get(name) ?? ask(name)
    }
  }
}
