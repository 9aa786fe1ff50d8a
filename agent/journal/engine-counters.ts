// The engine's latest counters of each rule, and which of them the journal has written. In memory.

import type { Counters } from '../engine/engine.ts'
import type { ActivePort } from '../wire/journal-report.ts'
import { type Change, changesOf, type JournalRule } from './journal-changes.ts'

interface Binding {
  readonly rule: JournalRule
  written: Counters | null
  latest: Counters | null
  isFinal: boolean
}

export type EngineCounters = ReturnType<typeof openEngineCounters>

export function openEngineCounters() {
  const bindings = new Map<number, Binding>() // by the engine's number of the rule

  return {
    bind: (engineId: number, rule: JournalRule): void =>
      void bindings.set(engineId, { rule, written: null, latest: null, isFinal: false }),

    unbind: (engineId: number): void => void bindings.delete(engineId),

    /** After the final counters of a rule, later ones are ignored. */
    record(counters: Counters, { isFinal }: { readonly isFinal: boolean }): void {
      const binding = bindings.get(counters.ruleId)
      if (!binding || binding.isFinal) return
      binding.latest = counters
      binding.isFinal = isFinal
    },

    /** Returns the changes that are not on disk yet; their bytes count in `minute` (Unix seconds). */
    unwritten: (minute: number): Change[] =>
      [...bindings.values()].flatMap(({ rule, latest, written }) =>
        latest && latest !== written ? changesOf(rule, minute, latest, written) : []
      ),

    /** Called when everything is on disk; forgets rules with final counters. */
    markWritten(): void {
      for (const [engineId, binding] of bindings) {
        binding.written = binding.latest
        if (binding.isFinal) bindings.delete(engineId)
      }
    },

    rules: (): JournalRule[] => [...bindings.values()].map(({ rule }) => rule),

    /** Ports without open connections are left out. */
    activePorts: (): ActivePort[] =>
      [...bindings.values()].flatMap(({ rule, latest }) =>
        (latest?.ports ?? [])
          .filter(({ active }) => active > 0)
          .map(({ port, active }) => ({ ruleId: rule.id, port, connections: active }))
      )
  }
}
