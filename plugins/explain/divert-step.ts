import type { AgentCall, AskedCaller, EngineTarget, ExplainStep } from '../../agent/plugin.ts'
import { nameOf } from './target-steps.ts'

/** The targets of a caller, and the steps that tell why they are not the rule's own. */
export interface Diverted {
  readonly targets: readonly EngineTarget[]
  readonly steps: readonly ExplainStep[]
}

/** Returns the targets that a caller gets. Behind a proxy, the address in its header decides. */
export function divertOf({ path, source, sample }: AskedCaller, { rules }: AgentCall): Diverted {
  const { spec, plan } = path
  const { targets, diverts } = plan
  if (diverts.length === 0) return { targets, steps: [] }
  const step = { kind: 'divert', verdict: 'info', reason: null } as const
  if (source === null || plan.firstRead) {
    const which = source === null ? 'of a caller' : 'in the PROXY header'
    const names = diverts.map(({ name }) => name).join(', ')
    const text = `the address ${which} decides whether ${names} diverts it to other targets`
    return { targets, steps: [{ ...step, id: 'any', text }] }
  }
  const divert = path.divert(source)
  if (!divert) return { targets, steps: [] }
  const { name, refusalBeyond } = divert
  const own = sample.rules.filter(({ ruleId }) => rules.find(ruleId)?.id === spec.id)
  const counters = own.flatMap(rule => rule.diverts.filter(other => other.name === name))
  const active = counters.reduce((sum, one) => sum + one.active, 0)
  if (refusalBeyond && active >= refusalBeyond.max) {
    const text = `${name} diverts callers from ${source}, and has ${active} of at most ${refusalBeyond.max} connections`
    return {
      targets: [],
      steps: [{ ...step, id: name, verdict: 'stop', reason: refusalBeyond.reason, text }]
    }
  }
  const limit = refusalBeyond ? `, at most ${refusalBeyond.max} at once` : ''
  const text = `${name} diverts callers from ${source} to ${divert.targets.map(nameOf).join(', ')}${limit}; ${active === 1 ? '1 is' : `${active} are`} open`
  return { targets: divert.targets, steps: [{ ...step, id: name, reason: 'diverted', text }] }
}
