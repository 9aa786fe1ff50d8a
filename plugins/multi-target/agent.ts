import { type AgentCall, type AgentPlugin, type ControlStream, defineField } from '../../agent/plugin.ts'
import {
  checkCapability,
  checkKey,
  Health,
  HealthCheck,
  messages,
  type RuleHealth,
  targetsCapability
} from './wire.ts'

const everyMs = 5_000
const rulesPerMessage = 250 // of at most 8 targets: a frame holds 256 KiB
const minuteMs = 60_000

/** Of the stream that is up, by the agent's call: a process may hold several agents. */
const reporters = new WeakMap<AgentCall, () => void>()

export default {
  name: 'multi-target',
  agent: '^1.0.0',
  capabilities: {
    [targetsCapability.id]: targetsCapability.since,
    [checkCapability.id]: checkCapability.since
  },
  messages,
  shapes: [{ claims: 'targets' }],
  fields: [
    defineField({
      key: checkKey,
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
    const say = to === 'failed' ? call.log.warn : call.log.info
    say('rule.target.health_changed', `${target} is ${to}: ${reason}`, { rule, target, from, to, reason })
    reporters.get(call)?.()
  },
  connected(stream, call) {
    const report = openReporter(stream, call)
    reporters.set(call, report)
    stream.signal.addEventListener('abort', call.clock.every(everyMs, report), { once: true })
    report()
  }
} satisfies AgentPlugin

/** What has changed since it was told. A success is no news for a minute: it comes with every connection. */
function openReporter(stream: ControlStream, { rules, takeSample }: AgentCall): () => void {
  let told = new Map<string, string>()

  return () => {
    if (stream.signal.aborted) return
    const now = new Map<string, RuleHealth>()
    for (const { ruleId, targets } of takeSample().rules) {
      const id = rules.find(ruleId)?.id
      // Of a rule that was opened anew the later engine rule counts: the other one drains.
      if (id !== undefined) now.set(id, { rule_id: id, targets: targets.map(wordOf) })
    }
    const fresh = new Map([...now].map(([id, health]) => [id, looks(health)]))
    const changed = [...now.values()].filter(({ rule_id: id }) => fresh.get(id) !== told.get(id))
    told = fresh
    for (let at = 0; at < changed.length; at += rulesPerMessage)
      stream.send(Health, { rules: changed.slice(at, at + rulesPerMessage) })
  }
}

type Counted = ReturnType<AgentCall['takeSample']>['rules'][number]['targets'][number]

const wordOf = ({ health, consecutiveFailures, lastFailureAt, lastSuccessAt }: Counted) => ({
  state: health,
  consecutive_failures: consecutiveFailures,
  ...(lastFailureAt !== null && { last_failure_ms: lastFailureAt }),
  ...(lastSuccessAt !== null && { last_success_ms: lastSuccessAt })
})

const looks = ({ targets }: RuleHealth): string =>
  JSON.stringify(targets.map(({ last_success_ms: ms = 0, ...rest }) => [rest, Math.floor(ms / minuteMs)]))
