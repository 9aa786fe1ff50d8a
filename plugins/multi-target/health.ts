// The health of targets as agents report it. It is unknown while the agent is disconnected.
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
import type { RuleHealth } from './wire.ts'

const TargetHealth = closed(
  {
    state: Type.Union([Type.Literal('healthy'), Type.Literal('failed'), Type.Literal('unknown')], {
      description: 'As the client judges it.'
    }),
    consecutive_failures: Type.Integer({ minimum: 0, description: 'Failed dials since the last good one.' }),
    last_failure_at: orNull(timeOf('When a dial failed last.'), { examples: [null] }),
    last_success_at: orNull(timeOf('When a dial succeeded last.'))
  },
  { $id: 'TargetHealth', description: 'Whether the client reaches the target.' }
)
type TargetHealth = Static<typeof TargetHealth>

const unknown: TargetHealth = {
  state: 'unknown',
  consecutive_failures: 0,
  last_failure_at: null,
  last_success_at: null
}

const aheadMs = 24 * 3_600_000 // how far a host's clock may be ahead; a time in the future is shown as now

type Services = Pick<Kernel, 'store' | 'clock' | 'log'> & { readonly rules: Pick<Rules, 'ownershipOf'> }

export type Healths = ReturnType<typeof openHealths>

export function openHealths({ store, clock, log, rules }: Services) {
  const sessions = new Map<string, { sessionId: string; rules: Map<string, RuleHealth['targets']> }>()
  const logRefused = openRefusedRows({ clock, log })

  /** Keeps the health of rules of the client: their number, and that of their targets, bounds what is kept. */
  async function receive(
    { clientId, sessionId }: Pick<Peer, 'clientId' | 'sessionId'>,
    reported: readonly RuleHealth[]
  ): Promise<void> {
    const ids = reported.map(({ rule_id }) => rule_id)
    const found = await store.read(em => rules.ownershipOf(ids, em))
    const session = sessions.get(clientId)
    if (session?.sessionId !== sessionId) return
    const now = latest(clock)
    const refused: RefusedRow[] = []
    for (const health of reported) {
      const rule = found.get(health.rule_id)
      if (!rule) continue // deleted meanwhile
      if (isOfFormer(health, rule)) continue
      const reason = rule.clientId === clientId ? reasonAgainst(health, rule, now) : 'rule'
      if (reason !== null) refused.push({ report: 'health', reason, rule: health.rule_id })
      else
        session.rules.set(
          health.rule_id,
          health.targets.map(target => untilNow(target, now))
        )
    }
    logRefused(clientId, refused)
  }

  const connection: ConnectionHooks = {
    joined: ({ clientId, sessionId }) => void sessions.set(clientId, { sessionId, rules: new Map() }),
    left({ clientId, sessionId }) {
      if (sessions.get(clientId)?.sessionId === sessionId) sessions.delete(clientId)
    }
  }

  function of({ id, clientId, targets }: Pick<RuleCore, 'id' | 'clientId' | 'targets'>): TargetHealth[] {
    const reported = sessions.get(clientId)?.rules.get(id) ?? []
    const shown = targets.map(() => unknown)
    for (const [at, index] of inFailoverOrder(targets).entries()) shown[index] = targetHealthOf(reported[at])
    return shown
  }

  const view: TargetView = {
    key: 'health',
    schema: TargetHealth,
    load: rules => new Map(rules.map(rule => [rule.id, of(rule)]))
  }

  const forget = ({ id, clientId }: { readonly id: string; readonly clientId: string }): void =>
    void sessions.get(clientId)?.rules.delete(id)

  /** Returns the ids of the rules of which the health was reported. */
  const reported = (): string[] => [...sessions.values()].flatMap(({ rules }) => [...rules.keys()])

  return { receive, connection, view, forget, of, reported }
}

/** The targets are being changed: the report is of those that the rule had. */
const isOfFormer = ({ targets }: RuleHealth, { targets: present, former }: RuleScope): boolean =>
  former.targets.length > 0 && targets.length !== present.length

function reasonAgainst({ targets }: RuleHealth, rule: RuleScope, now: number): string | null {
  if (targets.length !== rule.targets.length) return 'targets'
  const times = targets.flatMap(({ last_failure_ms = 0, last_success_ms = 0 }) => [
    last_failure_ms,
    last_success_ms
  ])
  return times.every(ms => ms >= 0 && ms <= now + aheadMs) ? null : 'time'
}

type ReportedTarget = RuleHealth['targets'][number]

const untilNow = (
  { last_failure_ms: failure, last_success_ms: success, ...target }: ReportedTarget,
  now: number
): ReportedTarget => ({
  ...target,
  ...(failure !== undefined && { last_failure_ms: Math.min(failure, now) }),
  ...(success !== undefined && { last_success_ms: Math.min(success, now) })
})

/** Returns the indices of the targets in the order in which an agent has them. */
const inFailoverOrder = (targets: RuleCore['targets']): number[] =>
  targets
    .map(({ priority }, index) => ({ priority, index }))
    .toSorted((a, b) => a.priority - b.priority)
    .map(({ index }) => index)

const targetHealthOf = (reported: ReportedTarget | undefined): TargetHealth =>
  reported === undefined
    ? unknown
    : {
        state: reported.state,
        consecutive_failures: reported.consecutive_failures,
        last_failure_at: shownTime(reported.last_failure_ms),
        last_success_at: shownTime(reported.last_success_ms)
      }

const shownTime = (ms: number | undefined): string | null => (ms === undefined ? null : timestamp(ms))
