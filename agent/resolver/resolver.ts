// Resolves target names for the engine: from the hosts file, then the cache, then DNS.
import { isIP } from 'node:net'
import type { Clock } from '../../kernel/base/clock.ts'
import type { Resolved } from '../engine/engine.ts'
import { openDnsCache } from './dns-cache.ts'
import { dnsLookup, type Lookup, lookUpAddresses } from './dns-lookup.ts'
import { openHosts } from './hosts.ts'
import { LookupQueue } from './lookup-queue.ts'
import { openSearchList, withoutDot } from './search-list.ts'

export interface Resolver {
  /**
   * Returns addresses in the order of the hosts file, or from DNS with IPv4 before IPv6. Never rejects. The owner of the
   * rule that needs the name has a share of lookups and cache: names of one owner neither delay nor evict those of others.
   */
  resolve(host: string, owner: string): Promise<Resolved>
  /** Returns the age in ms of the DNS answer that `resolve` returns; null: it is not from DNS. */
  ageMs?(host: string): number | null
}

interface Options {
  readonly clock: Clock
  readonly lookup?: Lookup
  readonly hosts?: string // path of a file in the format of /etc/hosts; default: the system's
  readonly resolvConf?: string // path of a file in the format of /etc/resolv.conf; default: the system's
}

/** How soon a change of the hosts file is noticed: for names in use, and for others. */
const hostsFresh = { freshMs: 500, usableMs: 2_000 }

/** How long a dial waits for new addresses while older ones can serve (RFC 8767 asks for less than 1.8 s). */
const patienceMs = 1_200

export function openResolver(options: Options): Required<Resolver> {
  const { clock, lookup = dnsLookup() } = options
  const addressesInHosts = openHosts(options.hosts)
  const searchList = openSearchList(options.resolvConf)
  const cache = openDnsCache(clock)
  /** A search has the key of its names, so that a changed search list begins without the addresses of the old one. */
  const keyOf = (host: string): string => searchList(host).join(' ')
  const queue = new LookupQueue({
    clock,
    async lookUp(key, owner) {
      const search = { names: key.split(' '), known: cache.known(key)?.name ?? null }
      return cache.store(key, owner, await lookUpAddresses(search, lookup, clock))
    }
  })

  /** A lookup that takes long counts as failed if there are older addresses. Its answer is stored when it arrives. */
  function inTime(key: string, owner: string, answer: Promise<Resolved>): Promise<Resolved> {
    const { promise: late, resolve } = Promise.withResolvers<Resolved>()
    const stop = clock.after(patienceMs, () =>
      resolve(cache.store(key, owner, { ok: false, reason: 'timeout' }))
    )
    return Promise.race([answer.finally(stop), late])
  }

  /** Stale addresses are used at once while the lookup waits for its turn, or if the last one failed. */
  function query(key: string, owner: string): Promise<Resolved> | Resolved {
    const isSilent = cache.isSilent(key)
    const { isWaiting, answer } = queue.ask({ name: key, owner, isSilent })
    if (isWaiting || isSilent) return cache.stale(key) ?? answer
    return cache.known(key) === null ? answer : inTime(key, owner, answer)
  }

  return {
    ageMs(host) {
      if (isIP(host) !== 0 || addressesInHosts(nameOf(host))) return null
      return cache.known(keyOf(host))?.ageMs ?? null
    },
    async resolve(host, owner) {
      if (isIP(host) !== 0) return { ok: true, addresses: [host] }
      const addresses = addressesInHosts(nameOf(host))
      if (addresses) return { ok: true, addresses, ...hostsFresh }
      const key = keyOf(host)
      return cache.fresh(key) ?? query(key, owner)
    }
  }
}

const nameOf = (host: string): string => withoutDot(host.toLowerCase())
