// The agent half: reports the health of targets, and probes those of rules without traffic.
import {
  type AgentCall,
  type AgentPlugin,
  defineField,
  type ProbedChange,
  type RuleSpec,
  type TargetEvent
} from '../../agent/plugin.ts'
import { timestamp } from '../../kernel/base/clock.ts'
import { metricsOf } from './agent-metrics.ts'
import { field } from './field.ts'
import { openReporter } from './health-reporter.ts'
import { IdleProbes, type Runs } from './idle-probes.ts'
import { type LineLimit, openLineLimit } from './line-limit.ts'
import { messages, targetsCapability } from './wire.ts'

const everyMs = 5_000
const probeEveryMs = 1_000

interface State {
  readonly probes: IdleProbes
  /** Reports on the current stream. */
  report: (runs: Runs) => void
  rules: number // at the last report
  readonly limited: LineLimit
}

/** By agent: a process can run several. */
const states = new WeakMap<AgentCall, State>()

function agentState(call: AgentCall): State {
  const state = states.get(call) ?? {
    probes: new IdleProbes(call),
    report() {},
    rules: 0,
    limited: openLineLimit(call.clock)
  }
  states.set(call, state)
  return state
}

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
    if (event.kind === 'target-probed')
      return agentState(call).limited(event.rule.owner, suppressed =>
        logHealth(event.rule, event, call, { suppressed })
      )
    if (event.kind !== 'target-health') return
    const rule = call.rules.find(event.ruleId)
    if (rule && event.target === 0) agentState(call).probes.changed(rule.id, event.to)
    logHealth(rule, event, call)
    report(call)
  },
  connected(stream, call) {
    const state = agentState(call)
    state.report = openReporter(stream, call, state.probes)
    report(call)
  },
  metrics: call => metricsOf(newestRuns(call), call, agentState(call).probes),
  async start({ call, defer }) {
    const { probes } = agentState(call)
    defer(() => {
      probes.stop()
      states.delete(call)
    })
    defer(call.clock.every(everyMs, () => report(call)))
    defer(call.clock.every(probeEveryMs, () => tick(call)))
  }
} satisfies AgentPlugin

/** Starts probes. A new rule is watched, and a change that a probe has found is reported, within a second. */
function tick(call: AgentCall): void {
  const { probes, rules } = agentState(call)
  probes.tick()
  if (probes.takeNews() || rules !== call.rules.runningCount()) report(call)
}

function report(call: AgentCall): void {
  const state = agentState(call)
  const runs = newestRuns(call)
  state.rules = call.rules.runningCount()
  state.probes.observe(runs)
  state.report(runs)
}

/** A reopened rule has two engine rules: the older one drains, and the later one counts. */
function newestRuns({ rules, takeSample }: AgentCall): Runs {
  return new Map(
    takeSample().rules.flatMap(counters => {
      const spec = rules.find(counters.ruleId)
      return spec ? [[spec.id, { spec, counters }] as const] : []
    })
  )
}

const targetName = ({ host, port }: Partial<RuleSpec['targets'][number]> = {}): string =>
  host?.includes(':') ? `[${host}]:${port}` : `${host}:${port}`

function logHealth(
  rule: RuleSpec | undefined,
  { target: at, from, to, reason }: ProbedChange,
  call: AgentCall,
  more: { readonly suppressed?: number } = {}
): void {
  const target = targetName(rule?.targets[at])
  const write = to === 'failed' ? call.log.warn : call.log.info
  write('rule.target.health_changed', `${target} is ${to}: ${reason}`, {
    rule: rule?.id,
    target,
    from,
    to,
    reason,
    ...more
  })
}

function logEjection(event: Exclude<TargetEvent, { readonly kind: 'target-probed' }>, call: AgentCall): void {
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
  report(call)
}
