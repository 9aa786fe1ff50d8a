import {
  type AgentCall,
  type AgentPlugin,
  type ControlStream,
  defineField,
  type RuleSpec,
  type TargetEvent,
  type TargetStanding
} from '../../agent/plugin.ts'
import { timestamp } from '../../kernel/base/clock.ts'
import { field } from './field.ts'
import {
  Health,
  maxRulesOfMessage,
  messages,
  type RuleHealth,
  targetsCapability,
  targetsMark
} from './wire.ts'

const everyMs = 5_000
const minuteMs = 60_000

/** The reporter of the current stream, by agent: a process can run several agents. */
const reporters = new WeakMap<AgentCall, () => void>()

export default {
  name: 'multi-target',
  agent: '^1.5.0',
  capabilities: { [targetsCapability.id]: targetsCapability.since },
  messages,
  shapes: [{ shape: 'targets' }],
  fields: [
    defineField({
      ...field,
      plan({ value: secs }, draft) {
        draft.probeMs = secs * 1000
      }
    })
  ],
  event(event, call) {
    if (event.kind === 'target-ejected' || event.kind === 'target-returned') return logEjection(event, call)
    if (event.kind !== 'target-health') return
    const rule = call.rules.find(event.ruleId)?.id
    const target = targetName(call.rules.find(event.ruleId)?.targets[event.target])
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

const targetName = ({ host, port }: Partial<RuleSpec['targets'][number]> = {}): string =>
  host?.includes(':') ? `[${host}]:${port}` : `${host}:${port}`

function logEjection(event: TargetEvent, call: AgentCall): void {
  const { id: rule, targets } = event.rule
  const target = targetName(targets[event.target])
  const { reason } = event
  if (event.kind === 'target-returned')
    call.log.info('rule.target.returned', `${target} is dialed again`, { rule, target, reason })
  else {
    const until = timestamp(event.until)
    call.log.warn('rule.target.ejected', `${target} is not dialed until ${until}: ${reason}`, {
      rule,
      target,
      reason,
      until
    })
  }
  reporters.get(call)?.()
}

interface Reported {
  readonly health: string
  readonly successes: string
  readonly at: number
}

/** Reports rules with changed health. Successes alone wait a minute, because each connection is one. */
function openReporter(stream: ControlStream, { clock, rules, takeSample }: AgentCall): () => void {
  let reported = new Map<string, Reported>()

  return () => {
    if (stream.signal.aborted) return
    const health = new Map<string, RuleHealth>()
    for (const { ruleId, targets } of takeSample().rules) {
      const rule = rules.find(ruleId)
      if (!rule) continue
      const standings = rules.standings(rule.id)
      const rows = targets.map((target, at) => reportTarget(target, standings[at]))
      // A reopened rule has two engine rules: the older one drains, and the later one counts.
      health.set(rule.id, { rule_id: rule.id, targets: rows, targets_mark: targetsMark(rule.targets) })
    }
    const now = clock.monotonic()
    const current = new Map([...health].map(([id, rule]) => [id, nextReport(rule, reported.get(id), now)]))
    const changed = [...health.values()].filter(({ rule_id: id }) => current.get(id) !== reported.get(id))
    reported = current
    for (let at = 0; at < changed.length; at += maxRulesOfMessage)
      stream.send(Health, { rules: changed.slice(at, at + maxRulesOfMessage) })
  }
}

type TargetSample = ReturnType<AgentCall['takeSample']>['rules'][number]['targets'][number]

const reportTarget = (
  { health, consecutiveFailures, lastFailureAt, lastSuccessAt }: TargetSample,
  { ejection, ejections }: Pick<TargetStanding, 'ejection' | 'ejections'> = { ejection: null, ejections: 0 }
) => ({
  state: health,
  ...(ejection && { ejected_until_ms: ejection.until, ejected_reason: ejection.reason }),
  ...(ejections > 0 && { ejections }),
  consecutive_failures: consecutiveFailures,
  ...(lastFailureAt !== null && { last_failure_ms: lastFailureAt }),
  ...(lastSuccessAt !== null && { last_success_ms: lastSuccessAt })
})

/** Returns `last` if there is nothing to report, else the new report. */
function nextReport(
  { targets, targets_mark }: RuleHealth,
  last: Reported | undefined,
  now: number
): Reported {
  const health = JSON.stringify([targets_mark, targets.map(({ last_success_ms: _, ...rest }) => rest)])
  const successes = JSON.stringify(targets.map(({ last_success_ms: ms }) => ms))
  const isSame = last?.health === health && (last.successes === successes || now - last.at < minuteMs)
  return isSame ? last : { health, successes, at: now }
}
