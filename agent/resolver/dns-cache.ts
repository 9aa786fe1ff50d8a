// Caches DNS answers and failures.
import type { Clock } from '../../kernel/base/clock.ts'
import type { Resolved } from '../engine/engine.ts'
import { isFinal, type LookupResult, type Reason } from './dns-lookup.ts'

const shortestMs = 1_000
const longestMs = 3_600_000
const failureMs = 3_000
const staleMs = 60_000
/** A name in use is looked up again this long before its addresses expire, at most, so that no dial waits. */
const aheadMs = 2_000
const maxNames = 4_096

interface Entry {
  readonly addresses: readonly string[] | null
  readonly answeredAt: number // when the addresses were looked up
  readonly freshUntil: number // of the addresses
  readonly expiresAt: number // of the addresses, or of the failure where there are none
  readonly failure: Failure | null
}

interface Failure {
  readonly reason: Reason
  readonly firstAt: number // of the consecutive failures
  readonly until: number
}

const none: Entry = { addresses: null, answeredAt: 0, freshUntil: 0, expiresAt: 0, failure: null }

/** Returns stale addresses for 60 s after they expired or lookups started to fail. */
function staleAnswer({ addresses, expiresAt, failure }: Entry, now: number): Resolved | null {
  const until = (failure?.firstAt ?? expiresAt) + staleMs
  if (!addresses || now >= until) return null
  const freshUntil = Math.min(failure?.until ?? now, until)
  const usableUntil = Math.min(freshUntil + aheadMs, until)
  return { ok: true, addresses, freshMs: freshUntil - now, usableMs: usableUntil - now }
}

function failedAnswer({ reason, until }: Failure, now: number): Resolved {
  const freshMs = until - now
  return { ok: false, reason, freshMs, usableMs: freshMs }
}

export interface DnsCache {
  /** Returns expired addresses while they are usable, or null. */
  stale(name: string): Resolved | null
  /** Returns the age of a name's addresses in ms; null: it has none. */
  ageMs(name: string): number | null
  /** Returns an answer that needs no lookup, or null. For a recent failure it is stale addresses or the failure. */
  fresh(name: string): Resolved | null
  /** Stores a result and returns the answer to give. */
  store(name: string, found: LookupResult): Resolved
}

export function openDnsCache(clock: Clock): DnsCache {
  const entries = new Map<string, Entry>()

  /** Stores an entry. A full cache evicts the entry that expires first. */
  const put = (name: string, entry: Entry) => {
    if (entries.size >= maxNames && !entries.has(name)) {
      const earliest = [...entries].reduce((a, b) => (b[1].expiresAt < a[1].expiresAt ? b : a))
      entries.delete(earliest[0])
    }
    entries.set(name, entry)
  }
  const stale = (name: string): Resolved | null => staleAnswer(entries.get(name) ?? none, clock.monotonic())

  return {
    stale,
    ageMs(name) {
      const { addresses, answeredAt } = entries.get(name) ?? none
      return addresses ? clock.monotonic() - answeredAt : null
    },
    fresh(name) {
      const now = clock.monotonic()
      const { addresses, freshUntil, expiresAt, failure } = entries.get(name) ?? none
      const usableMs = expiresAt - now
      if (addresses && now < freshUntil) return { ok: true, addresses, freshMs: freshUntil - now, usableMs }
      return failure && now < failure.until ? (stale(name) ?? failedAnswer(failure, now)) : null
    },
    store(name, found) {
      const now = clock.monotonic()
      if (found.ok) {
        const { addresses, ttlMs } = found
        const usableMs = Math.min(Math.max(ttlMs, shortestMs), longestMs)
        const freshMs = usableMs - Math.min(aheadMs, usableMs / 2)
        put(name, {
          addresses,
          answeredAt: now,
          freshUntil: now + freshMs,
          expiresAt: now + usableMs,
          failure: null
        })
        return { ok: true, addresses, freshMs, usableMs }
      }
      const until = now + failureMs
      const old = entries.get(name) ?? none
      const failure = { reason: found.reason, firstAt: old.failure?.firstAt ?? now, until }
      if (old.addresses && !isFinal(found.reason)) put(name, { ...old, failure })
      else put(name, { ...none, expiresAt: until, failure })
      return stale(name) ?? failedAnswer(failure, now)
    }
  }
}
