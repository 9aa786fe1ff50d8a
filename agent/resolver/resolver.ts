// Resolves target names for the engine: from the hosts file, then the cache, then DNS.
import { isIP } from 'node:net'
import type { Clock } from '../../kernel/base/clock.ts'
import type { Resolved } from '../engine.ts'
import { openCache } from './cache.ts'
import { dnsLookup, type Lookup, lookUpAddresses } from './dns.ts'
import { openHosts } from './hosts.ts'

interface Options {
  readonly clock: Clock
  readonly lookup?: Lookup
  readonly hosts?: string // path of a file in the format of /etc/hosts; default: the system's
}

const maxInFlight = 64

export function openResolver({ clock, lookup = dnsLookup(), hosts }: Options) {
  const addressesInHosts = openHosts(hosts)
  const cache = openCache(clock)
  const inFlight = new Map<string, Promise<Resolved>>()

  function query(name: string): Promise<Resolved> | Resolved {
    if (inFlight.size >= maxInFlight) return cache.stale(name) ?? { ok: false, reason: 'overloaded' }
    const answer = lookUpAddresses(name, lookup, clock).then(found => {
      inFlight.delete(name)
      return cache.store(name, found)
    })
    inFlight.set(name, answer)
    return answer
  }

  return {
    /** Returns addresses in the order of the hosts file, or those of DNS with IPv4 before IPv6. Never rejects. */
    async resolve(host: string): Promise<Resolved> {
      if (isIP(host) !== 0) return { ok: true, addresses: [host] }
      const name = host.toLowerCase().replace(/\.$/, '')
      const addresses = addressesInHosts(name)
      if (addresses) return { ok: true, addresses }
      return cache.fresh(name) ?? inFlight.get(name) ?? query(name)
    }
  }
}
