// The health of targets as reported by agents; unknown while the agent is offline.
import { type Static, Type } from 'typebox'
import { latest, timestamp } from '../../kernel/base/clock.ts'
import type { ConnectionHooks, Peer } from '../../kernel/control/peers.ts'
import { closed, orNull, timeOf } from '../../kernel/http/schema.ts'
import type { Kernel } from '../../kernel/plugin.ts'
import {
  openRefusedRows,
  type RefusedRow,
  type RuleCore,
  type RuleScope,
  type Rules,
  type TargetView
} from '../rules/exports.ts'
import { openEjectionLog } from './ejection-log.ts'
import { haveFailed, type JudgedRule, type TargetNotice } from './notice.ts'
import { type RuleHealth, targetKey, targetsMark } from './wire.ts'

const TargetHealth = closed(
  {
    state: Type.Union([Type.Literal('healthy'), Type.Literal('failed'), Type.Literal('unknown')], {
      description:
        'State of the target, as seen by the client: the result of the last attempt. `unknown`: there was none, the client is offline, or the rule is closed.'
    }),
    reason: orNull(
      Type.String({
        description:
          'Why the target is `failed`: `refused`, `timeout`, `unreachable`, `reset`, `no_answer`, `source_unavailable`, `denied_by_agent`, `loop`, or `dns_` and the reason of the name lookup, such as `dns_nxdomain`. Null in other states, and if the agent does not report it.'
      }),
      { examples: [null] }
    ),
    source: orNull(
      Type.Union([Type.Literal('probe'), Type.Literal('traffic')], {
        description:
          'Source of the state: a `probe` of the client, or the `traffic` of callers. Null in the state `unknown`, and if the agent does not report it.'
      })
    ),
    consecutive_failures: Type.Integer({ minimum: 0, description: 'Failed dials since the last success.' }),
    last_failure_at: orNull(timeOf('Time of the last failed dial.'), { examples: [null] }),
    last_success_at: orNull(timeOf('Time of the last successful dial.')),
    ejected_until: orNull(
      timeOf(
        'End of the ejection. Until then the client dials other targets, if there are any. Null: not ejected.'
      ),
      {
        examples: [null]
      }
    ),
    ejected_reason: orNull(
      Type.String({
        description:
          'Reason of the ejection: `slow_connect`, or the reason of the last failure, such as `timeout`.'
      }),
      { examples: [null] }
    )
  },
  { $id: 'TargetHealth', description: 'Whether the client can reach the target.' }
)
export type TargetHealth = Static<typeof TargetHealth>

const unknown: TargetHealth = {
  state: 'unknown',
  reason: null,
  source: null,
  consecutive_failures: 0,
  last_failure_at: null,
  last_success_at: null,
  ejected_until: null,
  ejected_reason: null
}

const aheadMs = 24 * 3_600_000 // tolerated clock skew of a host; replies show a future time as now

type Services = Pick<Kernel, 'store' | 'clock' | 'log' | 'control'> & {
  readonly rules: Pick<Rules, 'loadScopes'>
  readonly targetNotice: Pick<TargetNotice, 'judge'>
}

export interface Healths {
  /** Stores the health of the client's rules in memory; the number of rules and targets bounds it. */
  receive(peer: Pick<Peer, 'clientId' | 'sessionId'>, reported: readonly RuleHealth[]): Promise<void>
  readonly connection: ConnectionHooks
  readonly view: TargetView
  forget(rule: { readonly id: string; readonly clientId: string }): void
  /** Returns the health of each target; unknown for a target that the client has not reported yet. */
  of(rule: RuleTargets): TargetHealth[]
  /** Returns the ids of the rules with a reported health. */
  reported(): string[]
  /** Returns the number of ejections of each target, as reported by the client. */
  ejections(rule: RuleTargets): number[]
}

export function openHealths({ store, clock, log, control, rules, targetNotice }: Services): Healths {
  const sessions: Sessions = new Map()
  const { mirrored, changed } = openMirroredHealth(control, sessions)
  const logRefused = openRefusedRows({ clock, log })
  const logEjected = openEjectionLog({ clock, log })

  async function receive(
    { clientId, sessionId }: Pick<Peer, 'clientId' | 'sessionId'>,
    reported: readonly RuleHealth[]
  ): Promise<void> {
    const ids = reported.map(({ rule_id }) => rule_id)
    const found = await store.read(em => rules.loadScopes(ids, em))
    const session = sessions.get(clientId)
    if (session?.sessionId !== sessionId) return
    const now = latest(clock)
    const refused: RefusedRow[] = []
    const judged: JudgedRule[] = []
    for (const health of reported) {
      const rule = found.get(health.rule_id)
      if (!rule || isStale(health, rule)) continue // deleted or changed after the report
      const reason = rule.clientId === clientId ? problemWith(health, rule, now) : 'rule'
      if (reason !== null) refused.push({ report: 'health', reason, rule: health.rule_id })
      else {
        const before = session.rules.get(health.rule_id)
        const targets = inFailoverOrder(rule.targets)
        const rows = health.targets.map(target => clampToNow(target, now))
        session.rules.set(health.rule_id, byTarget(targets, rows))
        const earlier = targets.map(target => before?.get(targetKey(target)))
        const { owner, name } = rule
        judged.push(toJudged(health.rule_id, rule, rows, before, now))
        logEjected({ client: clientId, rule: health.rule_id, name, owner, targets }, earlier, rows)
      }
    }
    logRefused(clientId, refused)
    changed(clientId)
    await targetNotice.judge(judged)
  }

  function reportedTargets({ id, clientId, targets }: RuleTargets) {
    const rows = (sessions.get(clientId)?.rules ?? mirrored.get(clientId))?.get(id)
    return targets.map(target => rows?.get(targetKey(target)))
  }
  const of = (rule: RuleTargets): TargetHealth[] => reportedTargets(rule).map(toTargetHealth)

  const view: TargetView = {
    key: 'health',
    schema: TargetHealth,
    load: rules => new Map(rules.map(rule => [rule.id, of(rule)]))
  }

  const forget = ({ id, clientId }: { readonly id: string; readonly clientId: string }): void =>
    void sessions.get(clientId)?.rules.delete(id)

  const reported = (): string[] => [...sessions.values()].flatMap(({ rules }) => [...rules.keys()])

  const ejections = (rule: RuleTargets): number[] =>
    reportedTargets(rule).map(target => target?.ejections ?? 0)

  return { receive, connection: connectionHooks(sessions), view, forget, of, reported, ejections }
}

/** Mirrors the health of clients at peer servers. Call `changed` when the health of a client of this server changes. */
function openMirroredHealth({ servers }: Kernel['control'], sessions: Sessions) {
  const mirrored = new Map<string, Map<string, Reported>>() // by client and rule
  const changed = servers.mirror<[string, [string, ReportedTarget][]][]>({
    key: 'multi-target.health',
    value: clientId => [...(sessions.get(clientId)?.rules ?? [])].map(([id, rows]) => [id, [...rows]]),
    heard(clientId, reported) {
      if (reported) mirrored.set(clientId, new Map(reported.map(([id, rows]) => [id, new Map(rows)])))
      else mirrored.delete(clientId)
    }
  })
  return { mirrored, changed }
}

const toJudged = (
  id: string,
  scope: RuleScope,
  targets: RuleHealth['targets'],
  before: Reported | undefined,
  now: number
): JudgedRule => ({
  id,
  scope,
  targets,
  isNew: before === undefined,
  before: before !== undefined && haveFailed([...before.values()], now)
})

const byTarget = (targets: RuleCore['targets'], rows: readonly ReportedTarget[]): Reported =>
  new Map(targets.flatMap((target, at) => (rows[at] ? [[targetKey(target), rows[at]]] : [])))

const connectionHooks = (sessions: Sessions): ConnectionHooks => ({
  joined: ({ clientId, sessionId }) => void sessions.set(clientId, { sessionId, rules: new Map() }),
  left({ clientId, sessionId }) {
    if (sessions.get(clientId)?.sessionId === sessionId) sessions.delete(clientId)
  }
})

type RuleTargets = Pick<RuleCore, 'id' | 'clientId' | 'targets'>

/** True if the report is about former targets, while a change is pending. Agents before 2.1 do not mark their targets. */
const isStale = ({ targets, targets_mark: mark }: RuleHealth, rule: RuleScope): boolean =>
  mark === undefined
    ? rule.former.targets.length > 0 && targets.length !== rule.targets.length
    : mark !== targetsMark(inFailoverOrder(rule.targets))

function problemWith({ targets }: RuleHealth, rule: RuleScope, now: number): string | null {
  if (targets.length !== rule.targets.length) return 'targets'
  const times = targets.flatMap(({ last_failure_ms = 0, last_success_ms = 0, ejected_until_ms = 0 }) => [
    last_failure_ms,
    last_success_ms,
    ejected_until_ms
  ])
  return times.every(ms => ms >= 0 && ms <= now + aheadMs) ? null : 'time'
}

type ReportedTarget = RuleHealth['targets'][number]
type Reported = ReadonlyMap<string, ReportedTarget> // by target, see targetKey
type Sessions = Map<string, { readonly sessionId: string; readonly rules: Map<string, Reported> }> // by client

const clampToNow = (
  { last_failure_ms: failure, last_success_ms: success, ...target }: ReportedTarget,
  now: number
): ReportedTarget => ({
  ...target,
  ...(failure !== undefined && { last_failure_ms: Math.min(failure, now) }),
  ...(success !== undefined && { last_success_ms: Math.min(success, now) })
})

/** Returns the targets as agents try them: by priority. */
const inFailoverOrder = (targets: RuleCore['targets']): RuleCore['targets'] =>
  targets.toSorted((a, b) => a.priority - b.priority)

const toTargetHealth = (reported: ReportedTarget | undefined): TargetHealth =>
  reported === undefined
    ? unknown
    : {
        state: reported.state,
        reason: reported.state === 'failed' ? (reported.reason ?? null) : null,
        source: reported.state === 'unknown' ? null : (reported.source ?? null),
        consecutive_failures: reported.consecutive_failures,
        last_failure_at: toTimestamp(reported.last_failure_ms),
        last_success_at: toTimestamp(reported.last_success_ms),
        ejected_until: toTimestamp(reported.ejected_until_ms),
        ejected_reason: reported.ejected_reason ?? null
      }

const toTimestamp = (ms: number | undefined): string | null => (ms === undefined ? null : timestamp(ms))
