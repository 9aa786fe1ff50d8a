// Caches DNS answers and failures.
import { isIP } from 'node:net'
import type { Clock } from '../../kernel/base/clock.ts'
import type { Resolved } from '../engine/engine.ts'
import { type Family, isFinal, type LookupResult, type Reason } from './dns-lookup.ts'

const shortestMs = 1_000
const longestMs = 3_600_000
const failureMs = 3_000
const staleMs = 60_000
/** A name in use is looked up again this long before its addresses expire, at most, so that no dial waits. */
const aheadMs = 2_000
/** Longest time between lookups while stale addresses are in use. */
const longestBackoffMs = 12_000
/** Longest time between lookups of a name that has no addresses and that no server answers. */
const longestDeadBackoffMs = 60_000
/** How soon the engine asks again while a lookup runs behind stale addresses. */
const recheckMs = 500
const maxNames = 4_096

interface Entry {
  readonly found: Found | null
  readonly expiresAt: number // of the addresses; without any, 3 s after the failure: failures are evicted first
  readonly failure: Failure | null
}

interface Found {
  readonly name: string // absolute
  readonly addresses: readonly string[]
  readonly retained: Retained | null
  readonly answeredAt: number // when the addresses were looked up
  readonly freshUntil: number
}

/** Earlier addresses of a family about which no server answered. */
interface Retained {
  readonly family: Family
  readonly addresses: readonly string[]
  readonly until: number
}

interface Failure {
  readonly reason: Reason
  readonly firstAt: number // of the consecutive failures; restarts after an answer without addresses
  readonly until: number
}

const none: Entry = { found: null, expiresAt: 0, failure: null }

/** Returns the addresses, IPv4 before IPv6. */
function addressesAt({ addresses, retained }: Found, now: number): readonly string[] {
  if (!retained || now >= retained.until) return addresses
  return retained.family === 4 ? [...retained.addresses, ...addresses] : [...addresses, ...retained.addresses]
}

/** Returns stale addresses for 60 s after they expired or lookups started to fail. */
function staleAnswer({ found, expiresAt, failure }: Entry, now: number): Resolved | null {
  const until = (failure?.firstAt ?? expiresAt) + staleMs
  if (!found || now >= until) return null
  const freshUntil = Math.min(Math.max(failure?.until ?? 0, now + recheckMs), until)
  const usableUntil = Math.min(freshUntil + aheadMs, until)
  const addresses = addressesAt(found, now)
  return { ok: true, addresses, freshMs: freshUntil - now, usableMs: usableUntil - now }
}

function failedAnswer({ reason, until }: Failure, now: number): Resolved {
  const freshMs = until - now
  return { ok: false, reason, freshMs, usableMs: freshMs }
}

/** Returns what an incomplete answer leaves in use of the earlier ones for the same name. */
function retainedOf({ found, failure }: Entry, { name, unanswered }: Success, now: number): Retained | null {
  if (unanswered === null || found?.name !== name) return null
  const addresses = found.addresses.filter(address => isIP(address) === unanswered)
  if (addresses.length > 0)
    return { family: unanswered, addresses, until: (failure?.firstAt ?? now) + staleMs }
  return found.retained?.family === unanswered && now < found.retained.until ? found.retained : null
}

type Success = Extract<LookupResult, { ok: true }>

export interface DnsCache {
  /** Returns expired addresses while they are usable, or null. */
  stale(name: string): Resolved | null
  /** Returns the age of a name's addresses in ms, and the absolute name that has them; null: it has none. */
  known(name: string): { readonly name: string; readonly ageMs: number } | null
  /** Returns an answer that needs no lookup, or null. For a recent failure it is stale addresses or the failure. */
  fresh(name: string): Resolved | null
  /** Returns true if no server answered the last lookup of the name. */
  isSilent(name: string): boolean
  /** Stores a result and returns the answer to give. A new name counts for `owner`. */
  store(name: string, owner: string, result: LookupResult): Resolved
}

/** Stores at most 4,096 entries, each for the owner that first looked its name up. */
function openEntries() {
  const entries = new Map<string, Entry>()
  const namesOf = new Map<string, Set<string>>() // by owner; none is empty

  const get = (name: string): Entry => entries.get(name) ?? none

  /** Evicts the name that expires first, of the owner itself if none has more names. */
  function evict(own: string): void {
    const sizeOf = (owner: string): number => namesOf.get(owner)?.size ?? 0
    const owner = [...namesOf.keys()].reduce((one, other) => (sizeOf(other) > sizeOf(one) ? other : one), own)
    const names = namesOf.get(owner) ?? new Set()
    const earliest = [...names].reduce((one, other) =>
      get(other).expiresAt < get(one).expiresAt ? other : one
    )
    entries.delete(earliest)
    names.delete(earliest)
    if (names.size === 0) namesOf.delete(owner)
  }

  function put(name: string, owner: string, entry: Entry): void {
    if (!entries.has(name)) {
      if (entries.size >= maxNames) evict(owner)
      namesOf.set(owner, (namesOf.get(owner) ?? new Set()).add(name))
    }
    entries.set(name, entry)
  }
  return { get, put }
}

export function openDnsCache(clock: Clock): DnsCache {
  const { get, put } = openEntries()
  const stale = (name: string): Resolved | null => staleAnswer(get(name), clock.monotonic())

  function storeFound(name: string, owner: string, result: Success): Resolved {
    const now = clock.monotonic()
    const retained = retainedOf(get(name), result, now)
    const ttlMs = Math.min(Math.max(result.ttlMs, shortestMs), longestMs)
    const usableMs = Math.min(ttlMs, (retained?.until ?? Infinity) - now)
    const freshMs = usableMs - Math.min(aheadMs, usableMs / 2)
    const found: Found = {
      name: result.name,
      addresses: result.addresses,
      retained,
      answeredAt: now,
      freshUntil: now + freshMs
    }
    put(name, owner, { found, expiresAt: now + usableMs, failure: null })
    return { ok: true, addresses: addressesAt(found, now), freshMs, usableMs }
  }

  /** Only a complete answer discards addresses. Lookups back off: up to 12 s while they are in use, then up to 60 s. */
  function storeFailure(name: string, owner: string, reason: Reason): Resolved {
    const now = clock.monotonic()
    const old = get(name)
    const firstAt = old.failure && !isFinal(old.failure.reason) ? old.failure.firstAt : now
    const lostAt = firstAt + (old.found ? staleMs : 0) // no addresses are in use from then on
    const backoffMs =
      now < lostAt
        ? Math.min(now - firstAt, longestBackoffMs, lostAt - now)
        : Math.min(now - lostAt, isFinal(reason) ? 0 : longestDeadBackoffMs)
    const failure = { reason, firstAt, until: now + Math.max(backoffMs, failureMs) }
    if (old.found && !isFinal(reason)) put(name, owner, { ...old, failure })
    else put(name, owner, { ...none, expiresAt: now + failureMs, failure })
    return stale(name) ?? failedAnswer(failure, now)
  }

  return {
    stale,
    known(name) {
      const { found } = get(name)
      return found && { name: found.name, ageMs: clock.monotonic() - found.answeredAt }
    },
    fresh(name) {
      const now = clock.monotonic()
      const { found, expiresAt, failure } = get(name)
      if (found && now < found.freshUntil) {
        const addresses = addressesAt(found, now)
        return { ok: true, addresses, freshMs: found.freshUntil - now, usableMs: expiresAt - now }
      }
      return failure && now < failure.until ? (stale(name) ?? failedAnswer(failure, now)) : null
    },
    isSilent(name) {
      const { failure } = get(name)
      return failure !== null && !isFinal(failure.reason)
    },
    store: (name, owner, result) =>
      result.ok ? storeFound(name, owner, result) : storeFailure(name, owner, result.reason)
  }
}
