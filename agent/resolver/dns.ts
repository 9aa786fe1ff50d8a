import { Resolver } from 'node:dns/promises'
import type { Clock } from '../../kernel/base/clock.ts'
import type { Resolved } from '../engine.ts'

/** A and AAAA records of a name; rejects with the codes of node:dns. `signal`: nobody waits any more. */
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
/** When one family has answered, the other may take this much longer. */
const otherFamilyMs = 250
/** An answer that lacks a family which may yet exist is not kept for longer. */
const partialTtlMs = 30_000

/** Each question has a resolver of its own: it knows the system's servers of now, and is cancelled alone. */
export function dnsLookup(servers?: readonly string[]): Lookup {
  return async (name, family, signal) => {
    const resolver = new Resolver({ timeout: 1_000, tries: 3 })
    if (servers) resolver.setServers(servers)
    signal.addEventListener('abort', () => resolver.cancel(), { once: true })
    return family === 4 ? resolver.resolve4(name, { ttl: true }) : resolver.resolve6(name, { ttl: true })
  }
}

/** Both families at once; one of them is enough. */
export async function lookUpAddresses(name: string, lookup: Lookup, clock: Clock): Promise<LookupResult> {
  const { promise: enough, resolve: done } = Promise.withResolvers<void>()
  const unwanted = new AbortController()
  const timers = [clock.after(attemptMs, done)]
  const parts: [Part, Part] = ['timeout', 'timeout'] // until they have answered

  const ask = async (family: 4 | 6) => {
    const part = await lookup(name, family, unwanted.signal).then(partOf, reasonOf)
    parts[family === 4 ? 0 : 1] = part
    if (typeof part !== 'string') timers.push(clock.after(otherFamilyMs, done))
  }
  Promise.all([ask(4), ask(6)]).then(() => done())
  await enough

  for (const cancel of timers) cancel()
  unwanted.abort()
  return join(parts)
}

type Part = readonly Address[] | Reason

const partOf = (answer: readonly Address[]): Part => (answer.length > 0 ? answer : 'no_address')

const reasons: Readonly<Record<string, Reason>> = {
  ENOTFOUND: 'nxdomain',
  ENODATA: 'no_address',
  ETIMEOUT: 'timeout'
}
const reasonOf = ({ code = '' }: NodeJS.ErrnoException): Reason => reasons[code] ?? 'servfail'

/** Of two reasons the one that says most about the name, or about why nothing is known of it. */
const weight: readonly Reason[] = ['nxdomain', 'timeout', 'servfail', 'no_address']

/** An answer about the name itself; the others only say that there was none. */
export const isFinal = (reason: Reason): boolean => reason === 'nxdomain' || reason === 'no_address'

function join(parts: readonly Part[]): LookupResult {
  const failures = parts.filter(part => typeof part === 'string')
  const answers = parts.flatMap(part => (typeof part === 'string' ? [] : part))
  if (answers.length === 0)
    return { ok: false, reason: weight.find(reason => failures.includes(reason)) ?? 'no_address' }
  const ttlMs = Math.min(...answers.map(({ ttl }) => ttl)) * 1_000
  return {
    ok: true,
    addresses: [...new Set(answers.map(({ address }) => address))],
    ttlMs: failures.every(isFinal) ? ttlMs : Math.min(ttlMs, partialTtlMs)
  }
}
