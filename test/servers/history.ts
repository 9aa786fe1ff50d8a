// What the log of a run tells of a register: its writes with their tries, and its reads.
import { isMade } from './changes.ts'
import type { Called, Line, Promoted } from './record.ts'
import { firstValue } from './register.ts'

export interface Write {
  readonly value: number
  readonly began: number
  readonly tries: readonly Called[]
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
  readonly reads: readonly Read[] // in the order in which they began
}

/** A time in which no standby took over. */
export interface Era {
  readonly first: number // value at its beginning
  readonly from: number // calls that began later are of it, or of a later one
  readonly until: number // calls that ended before are of it, or of an earlier one
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
const writesOf = (calls: readonly Called[]): Write[] =>
  [...Map.groupBy(calls, ({ key = '' }) => key).values()]
    .map(tries => tries.toSorted((a, b) => a.began - b.began))
    .map(tries => ({ value: tries[0]?.sent ?? -1, began: tries[0]?.began ?? 0, tries }))
    .toSorted((a, b) => a.value - b.value)

/** The eras of a register: one, or two where a standby took over. */
export function erasOf(ruleId: string, promoted: Promoted | undefined): Era[] {
  const [from, until] = [Number.NEGATIVE_INFINITY, Number.POSITIVE_INFINITY]
  if (!promoted) return [{ first: 0, from, until }]
  return [
    { first: 0, from, until: promoted.killed },
    { first: plain(promoted.stored[ruleId] ?? -1), from: promoted.ended, until }
  ]
}

/** When it was acknowledged for good in this era; Infinity if it was not. */
export const acknowledgedAt = ({ tries }: Write, { from }: Era): number =>
  tries
    .filter(one => isMade(one) && one.began > from)
    .reduce((first, { ended }) => Math.min(first, ended), Number.POSITIVE_INFINITY)

/** Whether a server may have made it, or make it late: nobody knows of some try, or one was under way when the era began. */
export const isLoose = ({ tries }: Write, { from }: Era): boolean =>
  tries.some(({ status, began, ended }) => [0, 502, 503].includes(status) || (began < from && ended > from))
