// The health of targets as agents report it. It is unknown while the agent is disconnected.
import { type Static, Type } from 'typebox'
import { timestamp } from '../../kernel/base/clock.ts'
import type { ConnectionHooks, Peer } from '../../kernel/control/peers.ts'
import { closed, orNull, Time } from '../../kernel/http/schema.ts'
import type { RuleCore, TargetView } from '../rules/exports.ts'
import type { RuleHealth } from './wire.ts'

const TargetHealth = closed({
  state: Type.Union([Type.Literal('healthy'), Type.Literal('failed'), Type.Literal('unknown')]),
  consecutive_failures: Type.Integer({ minimum: 0 }),
  last_failure_at: orNull(Time),
  last_success_at: orNull(Time)
})
type TargetHealth = Static<typeof TargetHealth>

const unknown: TargetHealth = {
  state: 'unknown',
  consecutive_failures: 0,
  last_failure_at: null,
  last_success_at: null
}

/** Limits the memory that an agent can fill: twice the default of max_rules_per_client. The health of more is dropped. */
const maxReportedRules = 20_000

export type Healths = ReturnType<typeof openHealths>

export function openHealths() {
  const sessions = new Map<string, { sessionId: string; rules: Map<string, RuleHealth['targets']> }>()

  function receive(
    { clientId, sessionId }: Pick<Peer, 'clientId' | 'sessionId'>,
    reported: readonly RuleHealth[]
  ) {
    const session = sessions.get(clientId)
    if (session?.sessionId !== sessionId) return
    for (const { rule_id: id, targets } of reported)
      if (session.rules.has(id) || session.rules.size < maxReportedRules) session.rules.set(id, targets)
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

  return { receive, connection, view, forget }
}

/** Returns the indices of the targets in the order in which an agent has them. */
const inFailoverOrder = (targets: RuleCore['targets']): number[] =>
  targets
    .map(({ priority }, index) => ({ priority, index }))
    .toSorted((a, b) => a.priority - b.priority)
    .map(({ index }) => index)

const targetHealthOf = (reported: RuleHealth['targets'][number] | undefined): TargetHealth =>
  reported === undefined
    ? unknown
    : {
        state: reported.state,
        consecutive_failures: reported.consecutive_failures,
        last_failure_at: timeOf(reported.last_failure_ms),
        last_success_at: timeOf(reported.last_success_ms)
      }

const timeOf = (ms: number | undefined): string | null => (ms === undefined ? null : timestamp(ms))
