// What an agent may report: rows of the rules of its client, and of a rule only its own ports and targets.

import {
  type ActivePort,
  decodeActive,
  decodeRow,
  type JournalRow,
  type StatsReport,
  targetKey
} from '../../agent/wire/journal-report.ts'
import { type Clock, earliest, latest } from '../../kernel/base/clock.ts'
import type { Session } from '../../kernel/control/servers.ts'
import type { RefusedRow } from '../rules/exports.ts'
import type { ReportedRule, RuleParts } from './rule-owners.ts'
import { type OwnedRow, rowKey } from './tables.ts'

export interface Judged<T> {
  readonly own: readonly T[]
  readonly refused: readonly RefusedRow[]
}

/** What came on a session. */
export interface Report extends StatsReport, Session {}

type Reported = Pick<Report, 'clientId' | 'rows' | 'live'>
type Rules = ReadonlyMap<string, ReportedRule>

const spans = {
  minute: { secs: 60, maxBytes: 2 ** 43 }, // in one direction: more than a terabit per second all the time
  hour: { secs: 3600, maxBytes: 2 ** 49 }
}
const keptSecs = 91 * 86_400 // traffic shows 90 days
const aheadSecs = 3600

/** The starts of spans that may be reported, Unix seconds. */
interface Window {
  readonly from: number
  readonly to: number
}

/** `toldMs`: a time that the client was told; later than now if the clock was set back since. */
export const windowAt = (clock: Pick<Clock, 'now' | 'steady'>, toldMs = 0): Window => ({
  from: earliest(clock) / 1000 - keptSecs,
  to: Math.max(latest(clock), toldMs) / 1000 + aheadSecs
})

/** Returns why the row does not count, or null. */
type Judge = (row: JournalRow, may: Window & { readonly parts: RuleParts }) => string | null

const judges: Readonly<Record<string, Judge>> = {
  minute: judgeSpan(spans.minute),
  hour: judgeSpan(spans.hour),
  rule: ({ key, bytesIn, bytesOut }) => (key !== '' ? 'key' : bytesIn + bytesOut > 0 ? 'amount' : null),
  port: ({ key }, { parts }) => (String(Number(key)) === key && hasPort(parts, Number(key)) ? null : 'key'),
  target: ({ key }, { parts }) => (hasTarget(parts, key) ? null : 'key'),
  rejected: ({ key }) => (/^[\w.:-]{1,64}$/.test(key) ? null : 'key')
}

function judgeSpan({ secs, maxBytes }: (typeof spans)['minute']): Judge {
  return ({ key, bytesIn, bytesOut }, { from, to }) => {
    const start = Number(key)
    if (!/^\d{1,10}$/.test(key) || start % secs !== 0) return 'key'
    if (start < from || start > to) return 'time'
    return Math.max(bytesIn, bytesOut) > maxBytes ? 'amount' : null
  }
}

const hasPort = ({ listenFrom, listenTo, former }: RuleParts, port: number): boolean =>
  [{ from: listenFrom, to: listenTo }, ...former.ports].some(({ from, to }) => port >= from && port <= to)

const hasTarget = ({ targets, former }: RuleParts, key: string): boolean =>
  [...targets, ...former.targets].some(target => targetKey(target) === key)

/** Returns the rows that count, each key once. Of deleted rules only bytes do, of unknown ones nothing. */
export function judgeRows({ clientId, rows }: Reported, rules: Rules, window: Window): Judged<OwnedRow> {
  const own = new Map<string, OwnedRow>()
  const refused: RefusedRow[] = []
  for (const row of rows.map(decodeRow)) {
    const rule = rules.get(row.ruleId)
    if (!rule || !(rule.parts || Object.hasOwn(spans, row.kind))) continue
    const reason = rule.clientId === clientId ? reasonAgainst(row, rule, window) : 'rule'
    if (reason !== null) refused.push(refusalOf(row, reason))
    else own.set(rowKey(row), { ...row, owner: rule.owner })
  }
  return { own: [...own.values()], refused }
}

export const refusalOf = ({ ruleId: rule, kind, key }: JournalRow, reason: string): RefusedRow => ({
  report: 'stats',
  reason,
  rule,
  kind,
  key
})

const noParts: RuleParts = { listenFrom: 1, listenTo: 0, targets: [], former: { targets: [], ports: [] } }

function reasonAgainst(row: JournalRow, { parts }: ReportedRule, window: Window): string | null {
  const judge = Object.hasOwn(judges, row.kind) ? judges[row.kind] : undefined
  return judge ? judge(row, { ...window, parts: parts ?? noParts }) : 'kind'
}

/** Returns the open ports that count: of deleted and unknown rules none does. */
export function judgeActive({ clientId, live }: Reported, rules: Rules): Judged<ActivePort> {
  const own: ActivePort[] = []
  const refused: RefusedRow[] = []
  for (const active of live.map(decodeActive)) {
    const { ruleId, port } = active
    const rule = rules.get(ruleId)
    if (!rule?.parts) continue
    const reason = rule.clientId !== clientId ? 'rule' : hasPort(rule.parts, port) ? null : 'key'
    if (reason !== null) refused.push({ report: 'active', reason, rule: ruleId, key: `${port}` })
    else own.push(active)
  }
  return { own, refused }
}
