// Resolves target names for the engine: from the hosts file, then the cache, then DNS.
import { isIP } from 'node:net'
import type { Clock } from '../../kernel/base/clock.ts'
import type { Resolved } from '../engine/engine.ts'
import { openDnsCache } from './dns-cache.ts'
import { dnsLookup, type Lookup, lookUpAddresses } from './dns-lookup.ts'
import { openHosts } from './hosts.ts'

export interface Resolver {
  /** Returns addresses in the order of the hosts file, or from DNS with IPv4 before IPv6. Never rejects. */
  resolve(host: string): Promise<Resolved>
  /** Returns the age in ms of the DNS answer that `resolve` returns; null: it is not from DNS. */
  ageMs?(host: string): number | null
}

interface Options {
  readonly clock: Clock
  readonly lookup?: Lookup
  readonly hosts?: string // path of a file in the format of /etc/hosts; default: the system's
}

const maxInFlight = 64
/** How soon a change of the hosts file is noticed: for names in use, and for others. */
const hostsFresh = { freshMs: 500, usableMs: 2_000 }

export function openResolver({ clock, lookup = dnsLookup(), hosts }: Options): Required<Resolver> {
  const addressesInHosts = openHosts(hosts)
  const cache = openDnsCache(clock)
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
    ageMs(host) {
      const name = nameOf(host)
      return isIP(host) !== 0 || addressesInHosts(name) ? null : cache.ageMs(name)
    },
    async resolve(host) {
      if (isIP(host) !== 0) return { ok: true, addresses: [host] }
      const name = nameOf(host)
      const addresses = addressesInHosts(name)
      if (addresses) return { ok: true, addresses, ...hostsFresh }
      return cache.fresh(name) ?? inFlight.get(name) ?? query(name)
    }
  }
}

const nameOf = (host: string): string => host.toLowerCase().replace(/\.$/, '')
