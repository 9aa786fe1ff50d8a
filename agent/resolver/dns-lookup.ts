import { Resolver } from 'node:dns/promises'
import type { Clock } from '../../kernel/base/clock.ts'
import type { Resolved } from '../engine/engine.ts'

/** Opens the queries of one lookup. `signal` cancels them. */
export type Lookup = (signal: AbortSignal) => Query

/** Queries A (4) or AAAA (6) records of an absolute name. Rejects with the error codes of node:dns. */
type Query = (name: string, family: Family) => Promise<readonly Address[]>

export type Family = 4 | 6

export interface Address {
  readonly address: string
  readonly ttl: number // seconds
}

export type Reason = Extract<Resolved, { ok: false }>['reason']
export type LookupResult =
  | {
      readonly ok: true
      readonly name: string // the one of the search that has the addresses
      readonly addresses: readonly string[]
      readonly ttlMs: number
      readonly unanswered: Family | null // null: the answer is complete
    }
  | { readonly ok: false; readonly reason: Reason }

const attemptMs = 3_000 // of all names of a search together
/** How long the other family can take after one has addresses. */
const otherFamilyMs = 250
/** How long AAAA can take after A has none, if there are further names to try: some name servers never answer AAAA. */
const nextNameMs = 1_000
/** Longest time to cache addresses if the lookup was not complete. */
const partialTtlMs = 30_000

/**
 * Uses a new resolver for each lookup, which reads the system's current servers and can be cancelled alone. Within a lookup
 * it asks a server that did not answer last.
 */
export function dnsLookup(servers?: readonly string[]): Lookup {
  return signal => {
    const resolver = new Resolver({ timeout: 1_000, tries: 3 })
    if (servers) resolver.setServers(servers)
    signal.addEventListener('abort', () => resolver.cancel(), { once: true })
    return (name, family) =>
      family === 4 ? resolver.resolve4(name, { ttl: true }) : resolver.resolve6(name, { ttl: true })
  }
}

interface Search {
  readonly names: readonly string[] // absolute, in order
  /** The name with known addresses. If it fails now, the addresses of the next name are those of another host. */
  readonly known: string | null
}

/** Returns the addresses of the first name that has any. A name without an answer for A ends the search: it may exist. */
export async function lookUpAddresses(
  { names, known }: Search,
  lookup: Lookup,
  clock: Clock
): Promise<LookupResult> {
  const cancel = new AbortController()
  const query = lookup(cancel.signal)
  const deadline = clock.monotonic() + attemptMs
  const failures: Reason[] = []
  try {
    for (const [at, name] of names.entries()) {
      const answers = await queryFamilies(name, query, { clock, deadline, namesLeft: names.length - at })
      const found = merge(name, answers, failures.every(isFinal))
      if (found) return found
      const failed = answers.filter(answer => typeof answer === 'string')
      failures.push(...failed)
      const [four] = answers
      if (four === 'timeout' || (name === known && !failed.every(isFinal))) break
    }
    return { ok: false, reason: precedence.find(reason => failures.includes(reason)) ?? 'no_address' }
  } finally {
    cancel.abort()
  }
}

interface Bounds {
  readonly clock: Clock
  readonly deadline: number
  readonly namesLeft: number // with this one
}

/** Queries both families at once. Addresses of one are enough. */
async function queryFamilies(name: string, query: Query, { clock, deadline, namesLeft }: Bounds) {
  const { promise: settled, resolve: settle } = Promise.withResolvers<void>()
  const leftMs = Math.max(deadline - clock.monotonic(), 0)
  const timers = [clock.after(leftMs, settle)]
  const answers: [Answer, Answer] = ['timeout', 'timeout'] // until they come
  let isSettled = false

  const ask = async (family: Family) => {
    const answer = await query(name, family).then(answerOf, reasonOf)
    if (isSettled) return
    answers[family === 4 ? 0 : 1] = answer
    if (typeof answer !== 'string') timers.push(clock.after(otherFamilyMs, settle))
    else if (family === 4 && namesLeft > 1)
      timers.push(clock.after(Math.min(nextNameMs, leftMs / namesLeft), settle))
  }
  Promise.all([ask(4), ask(6)]).then(() => settle())
  await settled
  isSettled = true
  for (const stop of timers) stop()
  return answers
}

type Answer = readonly Address[] | Reason

const answerOf = (records: readonly Address[]): Answer => (records.length > 0 ? records : 'no_address')

const reasons: Readonly<Record<string, Reason>> = {
  ENOTFOUND: 'nxdomain',
  ENODATA: 'no_address',
  ETIMEOUT: 'timeout'
}
const reasonOf = ({ code = '' }: NodeJS.ErrnoException): Reason => reasons[code] ?? 'servfail'

/** If families failed for different reasons, the first in this list is reported: an error of one is no answer for the other. */
const precedence: readonly Reason[] = ['timeout', 'servfail', 'nxdomain', 'no_address']

/** Returns true if the name has no addresses. Other reasons mean that no server answered. */
export const isFinal = (reason: Reason): boolean => reason === 'nxdomain' || reason === 'no_address'

/** Returns null if neither family has addresses. `isCertain`: no earlier name of the search failed. */
function merge(name: string, answers: readonly Answer[], isCertain: boolean): LookupResult | null {
  const records = answers.flatMap(answer => (typeof answer === 'string' ? [] : answer))
  if (records.length === 0) return null
  const [four, six] = answers.map(answer => typeof answer === 'string' && !isFinal(answer))
  const unanswered = four ? 4 : six ? 6 : null
  const ttlMs = Math.min(...records.map(({ ttl }) => ttl)) * 1_000
  return {
    ok: true,
    name,
    addresses: [...new Set(records.map(({ address }) => address))],
    ttlMs: isCertain && unanswered === null ? ttlMs : Math.min(ttlMs, partialTtlMs),
    unanswered
  }
}
