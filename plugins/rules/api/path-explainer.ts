// Explains the paths of targets that other clients dial. The plugin `explain` asks it outside of transactions.
import type { TProperties } from 'typebox'
import { defineSlot } from '../../../kernel/slot.ts'
import type { ExplainedRule, ExplainStep } from './explainer.ts'

/** The path to a target: one step for each hop, up to the first that refuses. */
export interface ExplainedPath {
  readonly clientIds: readonly string[] // after the client of the rule
  readonly steps: readonly ExplainStep[]
}

export interface PathExplainer {
  /** Properties that each target of an explanation gets. */
  readonly properties: TProperties
  /**
   * Returns the values of the properties. `path`: null if the client of the rule dials. `pathMs`: what a probe took besides
   * look-up and connect; null: unknown.
   */
  show(path: ExplainedPath | null, pathMs: number | null): Readonly<Record<string, unknown>>
  /**
   * Asks the clients of the paths, for at most half a second. Returns the paths of the targets that are in force, in the
   * order of agents; none if no target has a path.
   */
  explain(asked: ExplainedRule): Promise<readonly (ExplainedPath | null)[]>
  /** Returns the path with the hop that gave this reason to a probe; the path as it is if no hop gives such reasons. */
  refusedBy(path: ExplainedPath, reason: string): ExplainedPath
}

export const pathExplainerSlot = defineSlot<PathExplainer>('explain.path', {
  ifOwnerMissing: 'inert',
  keyOf: () => 'path'
})
