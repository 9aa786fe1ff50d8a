// The agent's part of an explanation: decisions of the agent and its plugins, and a probe of the targets.
import { isIP } from 'node:net'
import ipaddr from 'ipaddr.js'
import type {
  AgentCall,
  AgentScope,
  AskedCaller,
  ExplainStep,
  PluginExplainer,
  RulePath,
  Sample
} from '../../agent/plugin.ts'
import { addressForms } from '../../kernel/platform/address-forms.ts'
import { Refused } from '../../kernel/wire/message.ts'
import { type Diverted, divertOf } from './divert-step.ts'
import { probeTargets } from './probe.ts'
import { openRefusals } from './refusals.ts'
import { targetSteps } from './target-steps.ts'
import { sendTestByte } from './test-byte.ts'
import { type Ask, maxLengths, maxSteps, type ProbedTarget, type Report, type WireStep } from './wire.ts'

export type Explain = (question: Ask) => Promise<Report>

export function openExplain(scope: Pick<AgentScope, 'call' | 'explainers'>) {
  const { call } = scope
  const refusals = openRefusals(call.clock)

  /** Returns the caller with the current counters. */
  function askedOf({ rule_id, port, source }: Ask, path: RulePath): AskedCaller {
    const sample = call.takeSample()
    refusals.follow(sample)
    const counters = newestIn(sample, rule_id, call)
    const refused = counters ? refusals.of(counters.ruleId) : new Map()
    const open = source === undefined ? 0 : countOpen(source, rule_id, call)
    return { path, port, source: source ?? null, open, sample, counters, refused }
  }

  async function explain(question: Ask): Promise<Report> {
    const missing = missingStep(question.rule_id, call)
    if (missing) return { steps: [wireStep(missing)], targets: [] }
    const path = call.paths.find(question.rule_id)
    if (!path) return { steps: [wireStep(absent(question.rule_id))], targets: [] }
    const asked = askedOf(question, path)
    const diverted: Diverted = divertOf(asked, call)
    const steps: ExplainStep[] = []
    for (const decide of [
      () => ownSteps(asked, call),
      ...scope.explainers.map(plugin => () => stepsOf(plugin, asked)),
      () => guardSteps(asked),
      () => diverted.steps,
      () => lastRefusals(asked)
    ]) {
      for (const step of decide()) {
        steps.push(step)
        if (step.verdict === 'stop') return { steps: steps.map(wireStep).slice(-maxSteps), targets: [] }
      }
    }
    const [targets, testByte] = await Promise.all([
      probeTargets(question, path, diverted.targets, call),
      question.test_byte ? sendTestByte(question, path, call) : null
    ])
    const all = [...steps, ...targetSteps(targets, question), ...(testByte ? [testByte] : [])]
    return { steps: all.map(wireStep).slice(-maxSteps), targets: targets.map(rounded) }
  }

  return { explain, follow: () => refusals.follow(call.takeSample()) }
}

/** Returns the newest run of the rule in the engine. A changed rule may have older runs that drain. */
function newestIn({ rules }: Sample, ruleId: string, call: AgentCall): AskedCaller['counters'] {
  const own = rules.filter(rule => call.rules.find(rule.ruleId)?.id === ruleId)
  return own.toSorted((a, b) => b.ruleId - a.ruleId)[0] ?? null
}

/** Counts open connections of a source. IPv6 counts by /64, since one host can use all of it; not behind a translator. */
function countOpen(address: string, ruleId: string, { connections }: AgentCall): number {
  const host = ipaddr.process(address).toString()
  const isOneHost = addressForms(host).some(form => isIP(form) === 4)
  const source = isOneHost ? host : `${ipaddr.IPv6.networkAddressFromCIDR(`${host}/64`)}/64`
  const rule = ({ id }: Pick<RulePath['spec'], 'id'>): boolean => id === ruleId
  const query = {
    rule,
    ids: null,
    sources: [source],
    target: null,
    sort: 'age',
    after: null,
    limit: 1
  } as const
  return connections.list(query).matched
}

/** Returns the steps of a plugin. A failing plugin stops no caller; the agent logs the error. */
function stepsOf({ by, explain }: PluginExplainer, asked: AskedCaller): readonly ExplainStep[] {
  try {
    return explain(asked)
  } catch (error) {
    if (!(error instanceof Refused)) throw error
    return [{ kind: 'plugin', id: by, verdict: 'info', reason: error.code, text: error.message }]
  }
}

const stop = (id: string, reason: string, text: string): ExplainStep => ({
  kind: 'rule',
  id,
  verdict: 'stop',
  reason,
  text
})

const absent = (id: string): ExplainStep => stop(id, 'pending', 'the agent does not have the rule yet')

function missingStep(id: string, { objects }: AgentCall): ExplainStep | null {
  const failure = objects.notInForce().find(object => object.kind === 'rule' && object.id === id)
  return failure ? stop(id, failure.reason, `the agent cannot open the rule: ${failure.message}`) : null
}

/** Returns the agent's own decisions: closed rules and source filters. */
function ownSteps({ path, source, refused }: AskedCaller, call: AgentCall): ExplainStep[] {
  const { spec, plan } = path
  const closed = call.rules.closed().get(spec.id)
  if (closed !== undefined) return [stop(spec.id, closed, `the agent has closed the rule: ${closed}`)]
  if (refused.get('descriptors')?.isLast)
    return [
      stop(
        spec.id,
        'descriptors',
        'the agent has no file descriptors left for a caller: raise its limit of open files'
      )
    ]
  const open: ExplainStep = {
    kind: 'rule',
    id: spec.id,
    verdict: 'pass',
    reason: null,
    text: `the agent listens on ${plan.protocol} port ${spec.from}${spec.to > spec.from ? `-${spec.to}` : ''}`
  }
  if (!plan.source && !plan.firstRead) return [open]
  const filter = { kind: 'source', id: source ?? 'any' } as const
  const refusal = source === null ? null : path.sourceRefusal(source, 0)
  if (refusal !== null)
    return [open, { ...filter, verdict: 'stop', reason: refusal, text: `callers from ${source} are refused` }]
  const text =
    source === null
      ? 'some sources are denied: repeat with --source ADDRESS'
      : `callers from ${source} are allowed`
  return [open, { ...filter, verdict: source === null ? 'info' : 'pass', reason: null, text }]
}

/** Returns the refusal by a guard that no plugin has explained. Behind a proxy, the address in its header decides. */
function guardSteps({ path, source }: AskedCaller): ExplainStep[] {
  const refusal = source === null || path.plan.firstRead ? null : path.guardRefusal(source)
  if (source === null || refusal === null) return []
  const text = `callers from ${source} are refused`
  return [{ kind: 'source', id: source, verdict: 'stop', reason: refusal, text }]
}

/** Returns refusals of the last minute that no plugin has explained. */
function lastRefusals({ path, refused }: AskedCaller): ExplainStep[] {
  return [...refused].map(([reason, { count, agoMs }]) => ({
    kind: 'rule',
    id: path.spec.id,
    verdict: 'info',
    reason,
    text: `${count} callers were refused since the rule opened, the last ${Math.round(agoMs / 1000)} s ago`
  }))
}

/** Truncates texts of plugins to the bounds of the wire. */
const wireStep = ({ kind, id, verdict, reason, text }: ExplainStep): WireStep => ({
  kind: kind.slice(0, maxLengths.kind),
  id: id.slice(0, maxLengths.id),
  verdict,
  ...(reason !== null && { reason: reason.slice(0, maxLengths.reason) }),
  text: text.slice(0, maxLengths.text)
})

/** Rounds times to tenths of a millisecond. */
const rounded = (target: ProbedTarget): ProbedTarget => ({
  ...target,
  ...Object.fromEntries(
    Object.entries(target).flatMap(([key, value]) =>
      key.endsWith('_ms') ? [[key, Math.round(Number(value) * 10) / 10]] : []
    )
  )
})
