import type { Counters } from '../engine.ts'
import { type Change, changesOf, type JournalRule } from './changes.ts'

/** Live connections of a rule on a port; only where there are some. */
export interface ActivePort {
  readonly ruleId: string
  readonly port: number
  readonly connections: number
}

interface Binding {
  readonly rule: JournalRule
  written: Counters | null
  latest: Counters | null
  isFinal: boolean
}

export type EngineCounters = ReturnType<typeof openEngineCounters>

/** What the engine has said, and how much of it is written: in memory, by the engine's numbers. */
export function openEngineCounters() {
  const bindings = new Map<number, Binding>()

  return {
    bind: (engineId: number, rule: JournalRule): void =>
      void bindings.set(engineId, { rule, written: null, latest: null, isFinal: false }),

    unbind: (engineId: number): void => void bindings.delete(engineId),

    hear(counters: Counters, word: 'last' | 'more'): void {
      const binding = bindings.get(counters.ruleId)
      if (!binding || binding.isFinal) return
      binding.latest = counters
      binding.isFinal = word === 'last'
    },

    /** What is not written yet. */
    changes: (minute: number): Change[] =>
      [...bindings.values()].flatMap(({ rule, latest, written }) =>
        latest && latest !== written ? changesOf(rule, minute, latest, written) : []
      ),

    written(): void {
      for (const [engineId, binding] of bindings) {
        binding.written = binding.latest
        if (binding.isFinal) bindings.delete(engineId)
      }
    },

    ruleIds: (): string[] => [...bindings.values()].map(({ rule }) => rule.id),

    owners: (): Record<string, string> =>
      Object.fromEntries([...bindings.values()].map(({ rule }) => [rule.id, rule.owner])),

    gauges: (): ActivePort[] =>
      [...bindings.values()].flatMap(({ rule, latest }) =>
        (latest?.ports ?? [])
          .filter(({ active }) => active > 0)
          .map(({ port, active }) => ({ ruleId: rule.id, port, connections: active }))
      )
  }
}
