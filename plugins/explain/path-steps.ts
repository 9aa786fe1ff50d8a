// Merges the paths of targets into an explanation: their hops come after the decisions of the agent and before its targets.
import type { SlotReader } from '../../kernel/slot.ts'
import {
  type ExplainedPath,
  type ExplainedRule,
  type PathExplainer,
  pathExplainerSlot
} from '../rules/exports.ts'
import type { Question, Step, Target } from './schema.ts'
import type { ProbedTarget, Report } from './wire.ts'

type Path = ExplainedPath | null

/** The paths of a caller's targets, in the order of agents; none if no target has a path. */
export interface Paths {
  readonly explainer: PathExplainer | null
  readonly all: readonly Path[]
}

export async function explainPaths(filled: SlotReader, asked: ExplainedRule): Promise<Paths> {
  const [explainer] = filled(pathExplainerSlot)
  return { explainer: explainer?.value ?? null, all: (await explainer?.value.explain(asked)) ?? [] }
}

const stopOf = (path: Path | undefined): Step | undefined =>
  path?.steps.find(({ verdict }) => verdict === 'stop')

/** True if a caller gets through to a target. Otherwise nothing needs to be sent there. */
const isPassable = ({ all }: Paths): boolean => all.length === 0 || all.some(path => !stopOf(path))

/** Returns the question for the agent: without a passable path, it sends nothing. */
export const questionFor = (question: Question, paths: Paths): Question =>
  isPassable(paths) ? question : { ...question, probe: false, test_byte: false }

/** Returns the paths with the hops that have refused the probe of the agent. */
function withProbed({ explainer, all }: Paths, targets: Report['targets']): readonly Path[] {
  return all.map((path, at) => {
    const error = targets[at]?.error
    return path && explainer && error !== undefined && !stopOf(path) ? explainer.refusedBy(path, error) : path
  })
}

const isDiverted = ({ steps }: Report): boolean =>
  steps.some(({ kind, reason }) => kind === 'divert' && reason === 'diverted')

/** Returns the paths that the report is about: those of a divert's targets are none. */
export const pathsOf = (paths: Paths, report: Report): Paths =>
  isDiverted(report) ? { ...paths, all: [] } : { ...paths, all: withProbed(paths, report.targets) }

/** Returns the steps of the agent with those of the path that the caller takes. `steps`: the agent's, as the reply has them. */
export function withHops(steps: readonly Step[], { all }: Paths): readonly Step[] {
  const at = steps.findIndex(({ kind }) => kind === 'target' || kind === 'test_byte')
  const decisions = at < 0 ? steps : steps.slice(0, at)
  const further = at < 0 ? [] : steps.slice(at)
  if (all.length === 0 || decisions.at(-1)?.verdict === 'stop') return steps
  const reached = further
    .filter(({ kind }) => kind === 'target')
    .findIndex(({ verdict }) => verdict === 'pass')
  const chosen = reached >= 0 ? reached : all.findIndex(path => !stopOf(path))
  if (chosen < 0) return [...decisions, ...(all[0]?.steps ?? [])]
  const skipped = all.slice(0, chosen).flatMap(path => stopOf(path) ?? [])
  const infos = skipped.map(step => ({ ...step, verdict: 'info' as const }))
  return [...decisions, ...infos, ...(all[chosen]?.steps ?? []), ...further]
}

/** Returns what the plugin with paths adds to a target, and the refusal of its path. */
export function pathFields({ explainer, all }: Paths, at: number, target: ProbedTarget): Partial<Target> {
  const path = all[at] ?? null
  const refusal = stopOf(path)?.reason
  return {
    ...explainer?.show(path, target.path_ms ?? null),
    ...(refusal != null && { error: refusal })
  }
}
