// The log of a run for one register: its writes with their tries, and its reads.
import { isMade } from './changes.ts'
import { firstValue } from './register.ts'
import type { CallAttempt, Line, StandbyPromotion } from './run-log.ts'

export interface Write {
  readonly value: number
  readonly began: number
  readonly tries: readonly CallAttempt[]
}

export interface Read {
  readonly value: number
  readonly began: number
  readonly ended: number
  readonly server: string
}

export interface Register {
  readonly ruleId: string
  readonly writes: readonly Write[] // in order
  readonly reads: readonly Read[] // by start time
}

/** A period between two failovers. */
export interface Era {
  readonly first: number // value at its start
  readonly from: number // calls that began later belong to it, or to a later one
  readonly until: number // calls that ended before belong to it, or to an earlier one
}

const pathOfRule = /^\/v1\/rules\/(\w{26})$/

export const plain = (value: number): number => (value === firstValue ? 0 : value)

export function registersOf(lines: readonly Line[]): Register[] {
  const calls = lines.filter(line => line.kind === 'call')
  const byRule = Map.groupBy(calls, ({ path }) => pathOfRule.exec(path)?.[1] ?? '')
  byRule.delete('')
  return [...byRule].map(([ruleId, of]) => ({
    ruleId,
    writes: writesOf(of.filter(({ method }) => method === 'PATCH')),
    reads: of
      .filter(({ method, status }) => method === 'GET' && status === 200)
      .map(({ got = -1, began, ended, server }) => ({ value: plain(got), began, ended, server }))
      .toSorted((a, b) => a.began - b.began)
  }))
}

/** Tries with one key are one write. */
const writesOf = (calls: readonly CallAttempt[]): Write[] =>
  [...Map.groupBy(calls, ({ key = '' }) => key).values()]
    .map(tries => tries.toSorted((a, b) => a.began - b.began))
    .map(tries => ({ value: tries[0]?.sent ?? -1, began: tries[0]?.began ?? 0, tries }))
    .toSorted((a, b) => a.value - b.value)

/** Returns the eras of a register: one, or two if a standby took over. */
export function erasOf(ruleId: string, promoted: StandbyPromotion | undefined): Era[] {
  const from = Number.NEGATIVE_INFINITY
  const until = Number.POSITIVE_INFINITY
  if (!promoted) return [{ first: 0, from, until }]
  return [
    { first: 0, from, until: promoted.killed },
    { first: plain(promoted.stored[ruleId] ?? -1), from: promoted.ended, until }
  ]
}

/** Returns the time of the final acknowledgement in this era; Infinity if there is none. */
export const acknowledgedAt = ({ tries }: Write, { from }: Era): number =>
  tries
    .filter(one => isMade(one) && one.began > from)
    .reduce((first, { ended }) => Math.min(first, ended), Number.POSITIVE_INFINITY)

/** True if a server may apply the write late: a try has no known outcome, or was in flight when the era began. */
export const isLoose = ({ tries }: Write, { from }: Era): boolean =>
  tries.some(({ status, began, ended }) => [0, 502, 503].includes(status) || (began < from && ended > from))
