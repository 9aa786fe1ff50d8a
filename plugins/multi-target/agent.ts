import { type AgentCall, type AgentPlugin, type ControlStream, defineField } from '../../agent/plugin.ts'
import {
  Health,
  HealthCheck,
  healthCheckCapability,
  healthCheckKey,
  maxRulesOfMessage,
  messages,
  type RuleHealth,
  targetsCapability
} from './wire.ts'

const everyMs = 5_000
const minuteMs = 60_000

/** The reporter of the current stream, by the agent's call: a process may hold several agents. */
const reporters = new WeakMap<AgentCall, () => void>()

export default {
  name: 'multi-target',
  agent: '^1.0.0',
  capabilities: {
    [targetsCapability.id]: targetsCapability.since,
    [healthCheckCapability.id]: healthCheckCapability.since
  },
  messages,
  shapes: [{ shape: 'targets' }],
  fields: [
    defineField({
      key: healthCheckKey,
      message: HealthCheck,
      plan({ interval_secs }, draft) {
        draft.probeMs = interval_secs * 1000
      }
    })
  ],
  event(event, call) {
    if (event.kind !== 'target-health') return
    const { id: rule, targets } = call.rules.find(event.ruleId) ?? {}
    const { host, port } = targets?.[event.target] ?? {}
    const target = host?.includes(':') ? `[${host}]:${port}` : `${host}:${port}`
    const { from, to, reason } = event
    const write = to === 'failed' ? call.log.warn : call.log.info
    write('rule.target.health_changed', `${target} is ${to}: ${reason}`, { rule, target, from, to, reason })
    reporters.get(call)?.()
  },
  connected(stream, call) {
    const report = openReporter(stream, call)
    reporters.set(call, report)
    stream.signal.addEventListener('abort', call.clock.every(everyMs, report), { once: true })
    report()
  }
} satisfies AgentPlugin

interface Reported {
  readonly health: string
  readonly successes: string
  readonly at: number
}

/** Reports the rules whose health changed. Successes alone wait a minute: each connection is one. */
function openReporter(stream: ControlStream, { clock, rules, takeSample }: AgentCall): () => void {
  let reported = new Map<string, Reported>()

  return () => {
    if (stream.signal.aborted) return
    const health = new Map<string, RuleHealth>()
    for (const { ruleId, targets } of takeSample().rules) {
      const id = rules.find(ruleId)?.id
      // A rule that was opened again has two engine rules: the later one counts, the other one drains.
      if (id !== undefined) health.set(id, { rule_id: id, targets: targets.map(targetHealthOf) })
    }
    const now = clock.monotonic()
    const current = new Map([...health].map(([id, rule]) => [id, nextOf(rule, reported.get(id), now)]))
    const changed = [...health.values()].filter(({ rule_id: id }) => current.get(id) !== reported.get(id))
    reported = current
    for (let at = 0; at < changed.length; at += maxRulesOfMessage)
      stream.send(Health, { rules: changed.slice(at, at + maxRulesOfMessage) })
  }
}

type TargetSample = ReturnType<AgentCall['takeSample']>['rules'][number]['targets'][number]

const targetHealthOf = ({ health, consecutiveFailures, lastFailureAt, lastSuccessAt }: TargetSample) => ({
  state: health,
  consecutive_failures: consecutiveFailures,
  ...(lastFailureAt !== null && { last_failure_ms: lastFailureAt }),
  ...(lastSuccessAt !== null && { last_success_ms: lastSuccessAt })
})

/** Returns `last`, or what is to be reported in its place. */
function nextOf({ targets }: RuleHealth, last: Reported | undefined, now: number): Reported {
  const health = JSON.stringify(targets.map(({ last_success_ms: _, ...rest }) => rest))
  const successes = JSON.stringify(targets.map(({ last_success_ms: ms }) => ms))
  const isSame = last?.health === health && (last.successes === successes || now - last.at < minuteMs)
  return isSame ? last : { health, successes, at: now }
}
