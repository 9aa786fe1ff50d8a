import { Resolver } from 'node:dns/promises'
import type { Clock } from '../../kernel/base/clock.ts'
import type { Resolved } from '../engine/engine.ts'

/** Queries A (4) or AAAA (6) records. Rejects with the error codes of node:dns; `signal` cancels the query. */
export type Lookup = (name: string, family: 4 | 6, signal: AbortSignal) => Promise<readonly Address[]>

export interface Address {
  readonly address: string
  readonly ttl: number // seconds
}

export type Reason = Extract<Resolved, { ok: false }>['reason']
export type LookupResult =
  | { readonly ok: true; readonly addresses: readonly string[]; readonly ttlMs: number }
  | { readonly ok: false; readonly reason: Reason }

const attemptMs = 3_000
/** How long the other family can take after one has answered. */
const otherFamilyMs = 250
/** Longest time to cache the addresses of one family when the lookup of the other failed. */
const partialTtlMs = 30_000

/** Uses a new resolver for each query, which reads the system's current servers and can be cancelled alone. */
export function dnsLookup(servers?: readonly string[]): Lookup {
  return async (name, family, signal) => {
    const resolver = new Resolver({ timeout: 1_000, tries: 3 })
    if (servers) resolver.setServers(servers)
    signal.addEventListener('abort', () => resolver.cancel(), { once: true })
    return family === 4 ? resolver.resolve4(name, { ttl: true }) : resolver.resolve6(name, { ttl: true })
  }
}

/** Queries both families at once, for at most 3 s. One answer is enough. */
export async function lookUpAddresses(name: string, lookup: Lookup, clock: Clock): Promise<LookupResult> {
  const { promise: settled, resolve: settle } = Promise.withResolvers<void>()
  const cancel = new AbortController()
  const timers = [clock.after(attemptMs, settle)]
  const answers: [Answer, Answer] = ['timeout', 'timeout'] // until they come

  const query = async (family: 4 | 6) => {
    const answer = await lookup(name, family, cancel.signal).then(answerOf, reasonOf)
    answers[family === 4 ? 0 : 1] = answer
    if (typeof answer !== 'string') timers.push(clock.after(otherFamilyMs, settle))
  }
  Promise.all([query(4), query(6)]).then(() => settle())
  await settled

  for (const stop of timers) stop()
  cancel.abort()
  return merge(answers)
}

type Answer = readonly Address[] | Reason

const answerOf = (records: readonly Address[]): Answer => (records.length > 0 ? records : 'no_address')

const reasons: Readonly<Record<string, Reason>> = {
  ENOTFOUND: 'nxdomain',
  ENODATA: 'no_address',
  ETIMEOUT: 'timeout'
}
const reasonOf = ({ code = '' }: NodeJS.ErrnoException): Reason => reasons[code] ?? 'servfail'

/** If the families failed for different reasons, the first in this list is reported. */
const precedence: readonly Reason[] = ['nxdomain', 'timeout', 'servfail', 'no_address']

/** Returns true if the name has no addresses. Other reasons mean that no server answered. */
export const isFinal = (reason: Reason): boolean => reason === 'nxdomain' || reason === 'no_address'

function merge(answers: readonly Answer[]): LookupResult {
  const failures = answers.filter(answer => typeof answer === 'string')
  const records = answers.flatMap(answer => (typeof answer === 'string' ? [] : answer))
  if (records.length === 0)
    return { ok: false, reason: precedence.find(reason => failures.includes(reason)) ?? 'no_address' }
  const ttlMs = Math.min(...records.map(({ ttl }) => ttl)) * 1_000
  return {
    ok: true,
    addresses: [...new Set(records.map(({ address }) => address))],
    ttlMs: failures.every(isFinal) ? ttlMs : Math.min(ttlMs, partialTtlMs)
  }
}
