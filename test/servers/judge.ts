// Judges the log of a run: pure functions of its lines.
import { isMade } from './changes.ts'
import { acknowledgedAt, erasOf, isLoose, plain, type Register, registersOf } from './history.ts'
import type { Bytes, CallAttempt, End, Line, ServerExit, StandbyPromotion } from './run-log.ts'
import { unexplainedReads } from './unexplained-reads.ts'

export interface Verdict {
  readonly check: string
  readonly found: readonly unknown[] // the faults
}

interface Story {
  readonly calls: readonly CallAttempt[]
  readonly registers: readonly Register[]
  readonly promoted: StandbyPromotion | undefined
  readonly ended: readonly ServerExit[]
  readonly end: End
}

export function judge(lines: readonly Line[]): Verdict[] {
  const end = lines.find(line => line.kind === 'end')
  if (!end) return [{ check: 'the log is complete', found: ['it has no final state'] }]
  const story: Story = {
    end,
    promoted: lines.find(line => line.kind === 'promoted'),
    registers: registersOf(lines),
    ...{
      calls: lines.filter(line => line.kind === 'call'),
      ended: lines.filter(line => line.kind === 'ended')
    }
  }
  return Object.entries(checks).map(([check, findIn]) => ({ check, found: findIn(story) }))
}

const checks: Readonly<Record<string, (story: Story) => readonly unknown[]>> = {
  'one order of all calls explains every read': ({ registers, promoted }) =>
    registers.flatMap(register => unexplainedReads(register, promoted)),
  'a promoted standby has all writes acknowledged before it was cut off': behindPoint,
  'the last acknowledged write of each register is in the store': notStored,
  'the audit log has exactly one entry for each acknowledged write': wrongEntries,
  'each agent has the rules of the store with their values': wrongAgentRules,
  'the totals of the store equal the counts of the agents': ({ end: { totals, counted, stored } }) =>
    Object.keys(stored)
      .map(ruleId => ({ ruleId, ...differenceOf(totals[ruleId], counted[ruleId]) }))
      .filter(({ bytesIn, bytesOut }) => bytesIn !== 0 || bytesOut !== 0),
  'no revoked token is accepted': opened,
  'no server exited unexpectedly': ({ ended }) => ended
}

const none: Bytes = { bytesIn: 0, bytesOut: 0 }

const differenceOf = (total: Bytes = none, counted: Bytes = none): Bytes => ({
  bytesIn: total.bytesIn - counted.bytesIn,
  bytesOut: total.bytesOut - counted.bytesOut
})

function behindPoint({ registers, promoted }: Story): readonly unknown[] {
  if (!promoted) return []
  return registers.flatMap(({ ruleId, writes }) => {
    const value = plain(promoted.stored[ruleId] ?? -1)
    const least = writes.findLast(({ tries }) => tries.some(one => isMade(one) && one.ended < promoted.began))
    const most = writes.findLast(({ began }) => began < promoted.killed)
    const fits = value >= (least?.value ?? 0) && value <= (most?.value ?? 0)
    return fits ? [] : [{ ruleId, value, least: least?.value, most: most?.value }]
  })
}

function notStored({ registers, promoted, end }: Story): readonly unknown[] {
  return registers.flatMap(({ ruleId, writes }) => {
    const era = erasOf(ruleId, promoted).at(-1)
    if (!era) return []
    const value = plain(end.stored[ruleId] ?? -1)
    const last = writes.findLast(write => Number.isFinite(acknowledgedAt(write, era)))?.value ?? era.first
    const write = writes.find(one => one.value === value)
    return value >= last || (write && isLoose(write, era)) ? [] : [{ ruleId, value, last }]
  })
}

/** Compares audit entries with writes. After a failover an entry is in the standby or lost, like its write. */
function wrongEntries({ registers, promoted, end }: Story): readonly unknown[] {
  const counts = new Map<string, number>()
  for (const [ruleId, value] of end.audited) {
    const key = `${ruleId} ${value}`
    counts.set(key, (counts.get(key) ?? 0) + 1)
  }
  const wrong = registers.flatMap(({ ruleId, writes }) => {
    const [before, after] = erasOf(ruleId, promoted)
    return writes.flatMap(write => {
      const key = `${ruleId} ${write.value}`
      const count = counts.get(key) ?? 0
      counts.delete(key)
      const isThere =
        after === undefined || write.value <= after.first
          ? before !== undefined && Number.isFinite(acknowledgedAt(write, before))
          : Number.isFinite(acknowledgedAt(write, after))
      return count > 1 || (isThere && count === 0) ? [{ ruleId, value: write.value, count }] : []
    })
  })
  const known = new Set(registers.map(({ ruleId }) => ruleId))
  const withoutWrite = [...counts.keys()].filter(key => known.has(key.split(' ')[0] ?? ''))
  return [...wrong, ...withoutWrite.map(key => ({ key, why: 'an entry without a write' }))]
}

function wrongAgentRules({ end: { stored, agentRules } }: Story): readonly unknown[] {
  const agents = new Map(agentRules)
  const missing = Object.entries(stored).filter(([ruleId, value]) => agents.get(ruleId) !== value)
  const surplus = agentRules.filter(([ruleId]) => stored[ruleId] === undefined)
  return [
    ...missing.map(([ruleId, value]) => ({ ruleId, stored: value, agent: agents.get(ruleId) })),
    ...surplus.map(([ruleId, value]) => ({ ruleId, agent: value }))
  ]
}

const pathOfCredential = /\/credentials\/(\w+)$/

/** Servers that have not detected the failover may still have to repeat revocations that the standby lacks. */
function opened({ calls, promoted }: Story): readonly unknown[] {
  const revokedAt = new Map<string, number>()
  for (const one of calls) {
    const id = one.method === 'DELETE' && isMade(one) ? pathOfCredential.exec(one.path)?.[1] : undefined
    if (id !== undefined)
      revokedAt.set(id, Math.min(one.ended, revokedAt.get(id) ?? Number.POSITIVE_INFINITY))
  }
  const isRestoring = ({ began, ended }: CallAttempt): boolean =>
    promoted !== undefined && ended > promoted.killed && began < promoted.restored
  return calls.filter(
    one => one.status === 200 && one.began > (revokedAt.get(one.by) ?? Infinity) && !isRestoring(one)
  )
}
