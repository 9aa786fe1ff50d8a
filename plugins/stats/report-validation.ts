// Validates the reports of agents. An agent may report only on its client's rules, and only their ports and targets.

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
import type { ReportedRule, RuleShape } from './rule-owners.ts'
import { type OwnedRow, rowKey } from './tables.ts'

export interface Validated<T> {
  readonly accepted: readonly T[]
  readonly refused: readonly RefusedRow[]
}

/** A report with the session on which it arrived. */
export interface Report extends StatsReport, Session {}

type Reported = Pick<Report, 'clientId' | 'rows' | 'live'>
type Rules = ReadonlyMap<string, ReportedRule>

const spans = {
  minute: { secs: 60, maxBytes: 2 ** 43 }, // in one direction: a steady terabit per second is less
  hour: { secs: 3600, maxBytes: 2 ** 49 }
}
const maxAgeSecs = 91 * 86_400 // traffic shows 90 days
const aheadSecs = 3600

/** Accepted starts of spans, Unix seconds. */
interface Window {
  readonly from: number
  readonly to: number
}

/** `sentMs`: a server time that the client has received. It lies in the future if the clock was set back since. */
export const reportWindow = (clock: Pick<Clock, 'now' | 'steady'>, sentMs = 0): Window => ({
  from: earliest(clock) / 1000 - maxAgeSecs,
  to: Math.max(latest(clock), sentMs) / 1000 + aheadSecs
})

/** Returns the reason to refuse the row, or null. */
type Check = (row: JournalRow, shape: RuleShape, window: Window) => string | null

const checks: Readonly<Record<string, Check>> = {
  minute: checkSpan(spans.minute),
  hour: checkSpan(spans.hour),
  rule: ({ key, bytesIn, bytesOut }) => (key !== '' ? 'key' : bytesIn + bytesOut > 0 ? 'amount' : null),
  port: ({ key }, shape) => (String(Number(key)) === key && hasPort(shape, Number(key)) ? null : 'key'),
  target: ({ key }, shape) => (hasTarget(shape, key) ? null : 'key'),
  rejected: ({ key }) => (/^[\w.:-]{1,64}$/.test(key) ? null : 'key')
}

function checkSpan({ secs, maxBytes }: (typeof spans)['minute']): Check {
  return ({ key, bytesIn, bytesOut }, _shape, { from, to }) => {
    const start = Number(key)
    if (!/^\d{1,10}$/.test(key) || start % secs !== 0) return 'key'
    if (start < from || start > to) return 'time'
    return Math.max(bytesIn, bytesOut) > maxBytes ? 'amount' : null
  }
}

const hasPort = ({ listenFrom, listenTo, former }: RuleShape, port: number): boolean =>
  [{ from: listenFrom, to: listenTo }, ...former.ports].some(({ from, to }) => port >= from && port <= to)

const hasTarget = ({ targets, former }: RuleShape, key: string): boolean =>
  [...targets, ...former.targets].some(target => targetKey(target) === key)

/** Accepts each key once. Ignores rows of unknown rules, and rows of deleted rules other than bytes. */
export function validateRows(
  { clientId, rows }: Reported,
  rules: Rules,
  window: Window
): Validated<OwnedRow> {
  const accepted = new Map<string, OwnedRow>()
  const refused: RefusedRow[] = []
  for (const row of rows.map(decodeRow)) {
    const rule = rules.get(row.ruleId)
    if (!rule || !(rule.shape || Object.hasOwn(spans, row.kind))) continue
    const reason = rule.clientId === clientId ? findReason(row, rule, window) : 'rule'
    if (reason !== null) refused.push(toRefusedRow(row, reason))
    else {
      const id = rowKey(row)
      accepted.set(id, { ...row, owner: rule.owner, id })
    }
  }
  return { accepted: [...accepted.values()], refused }
}

export const toRefusedRow = ({ ruleId: rule, kind, key }: JournalRow, reason: string): RefusedRow => ({
  report: 'stats',
  reason,
  rule,
  kind,
  key
})

const emptyShape: RuleShape = { listenFrom: 1, listenTo: 0, targets: [], former: { targets: [], ports: [] } }

function findReason(row: JournalRow, { shape }: ReportedRule, window: Window): string | null {
  const check = Object.hasOwn(checks, row.kind) ? checks[row.kind] : undefined
  return check ? check(row, shape ?? emptyShape, window) : 'kind'
}

/** Ignores ports of deleted and unknown rules. */
export function validateActive({ clientId, live }: Reported, rules: Rules): Validated<ActivePort> {
  const accepted: ActivePort[] = []
  const refused: RefusedRow[] = []
  for (const active of live.map(decodeActive)) {
    const { ruleId, port } = active
    const rule = rules.get(ruleId)
    if (!rule?.shape) continue
    const reason = rule.clientId !== clientId ? 'rule' : hasPort(rule.shape, port) ? null : 'key'
    if (reason !== null) refused.push({ report: 'active', reason, rule: ruleId, key: `${port}` })
    else accepted.push(active)
  }
  return { accepted, refused }
}
