// Caches DNS answers and failures.
import type { Clock } from '../../kernel/base/clock.ts'
import type { Resolved } from '../engine.ts'
import { isFinal, type LookupResult, type Reason } from './dns.ts'

const shortestMs = 1_000
const longestMs = 3_600_000
const failureMs = 3_000
const staleMs = 60_000
const maxNames = 4_096

interface Entry {
  readonly addresses: readonly string[] | null
  readonly expiresAt: number // of the addresses, or of the failure where there are none
  readonly failure: { readonly reason: Reason; readonly firstAt: number; readonly until: number } | null
}

export function openCache(clock: Clock) {
  const entries = new Map<string, Entry>()

  /** Stores an entry; evicts the one that expires first when the cache is full. */
  const put = (name: string, entry: Entry) => {
    if (entries.size >= maxNames && !entries.has(name)) {
      const [next] = [...entries].reduce((a, b) => (b[1].expiresAt < a[1].expiresAt ? b : a))
      entries.delete(next)
    }
    entries.set(name, entry)
  }
  /** Returns expired addresses, for 60 s after they expired or lookups began to fail. */
  const stale = (name: string): Resolved | null => {
    const { addresses = null, expiresAt = 0, failure = null } = entries.get(name) ?? {}
    const since = failure?.firstAt ?? expiresAt
    return addresses && clock.monotonic() < since + staleMs ? { ok: true, addresses } : null
  }

  return {
    stale,
    /** Returns an answer that has not expired; for a recent failure a stale answer, or the failure. */
    fresh(name: string): Resolved | null {
      const now = clock.monotonic()
      const { addresses = null, expiresAt = 0, failure = null } = entries.get(name) ?? {}
      if (addresses && now < expiresAt) return { ok: true, addresses }
      if (failure && now < failure.until) return stale(name) ?? { ok: false, reason: failure.reason }
      return null
    },
    /** Stores a result and returns the answer to give. */
    store(name: string, found: LookupResult): Resolved {
      const now = clock.monotonic()
      if (found.ok) {
        const { addresses, ttlMs } = found
        const expiresAt = now + Math.min(Math.max(ttlMs, shortestMs), longestMs)
        put(name, { addresses, expiresAt, failure: null })
        return { ok: true, addresses }
      }
      const until = now + failureMs
      const { addresses = null, expiresAt = until, failure: earlier = null } = entries.get(name) ?? {}
      const failure = { reason: found.reason, firstAt: earlier?.firstAt ?? now, until }
      if (addresses && !isFinal(found.reason)) put(name, { addresses, expiresAt, failure })
      else put(name, { addresses: null, expiresAt: until, failure })
      return stale(name) ?? found
    }
  }
}
