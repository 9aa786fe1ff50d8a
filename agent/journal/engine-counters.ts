// The engine's latest counters of each rule, and which of them the journal has written. In memory.
import type { Counters } from '../engine/engine.ts'
import type { ActivePort } from '../wire/journal-report.ts'
import { type JournalChange, type JournalRule, journalChanges } from './journal-changes.ts'

interface Binding {
  readonly rule: JournalRule
  written: Counters | null
  latest: Counters | null
  isFinal: boolean
}

export interface EngineCounters {
  bind(engineId: number, rule: JournalRule): void
  unbind(engineId: number): void
  /** Records the latest counters. Those that follow the final ones of a rule are ignored. */
  record(counters: Counters, kind: { readonly isFinal: boolean }): void
  /** Returns the changes that are not on disk yet. Their bytes count in `minute` (Unix seconds). */
  unwritten(minute: number): JournalChange[]
  /** Returns the bytes of an owner that are not on disk yet. */
  unwrittenBytes(owner: string): number
  /** Called when everything is on disk. Forgets rules with final counters. */
  markWritten(): void
  rules(): JournalRule[]
  /** Returns the ports with open connections. */
  activePorts(): ActivePort[]
}

export function openEngineCounters(): EngineCounters {
  const bindings = new Map<number, Binding>() // by engine id

  return {
    bind: (engineId, rule) =>
      void bindings.set(engineId, { rule, written: null, latest: null, isFinal: false }),
    unbind: engineId => void bindings.delete(engineId),
    record(counters, { isFinal }) {
      const binding = bindings.get(counters.ruleId)
      if (!binding || binding.isFinal) return
      binding.latest = counters
      binding.isFinal = isFinal
    },
    unwritten: minute =>
      [...bindings.values()].flatMap(({ rule, latest, written }) =>
        latest && latest !== written ? journalChanges(rule, minute, latest, written) : []
      ),
    unwrittenBytes(owner) {
      let bytes = 0
      for (const { rule, latest, written } of bindings.values())
        if (rule.owner === owner && latest !== written) bytes += bytesOf(latest) - bytesOf(written)
      return bytes
    },
    markWritten() {
      for (const [engineId, binding] of bindings) {
        binding.written = binding.latest
        if (binding.isFinal) bindings.delete(engineId)
      }
    },
    rules: () => [...bindings.values()].map(({ rule }) => rule),
    activePorts: () =>
      [...bindings.values()].flatMap(({ rule, latest }) =>
        (latest?.ports ?? [])
          .filter(({ active }) => active > 0)
          .map(({ port, active }) => ({ ruleId: rule.id, port, connections: active }))
      )
  }
}

const bytesOf = (counters: Counters | null): number =>
  (counters?.ports ?? []).reduce((sum, { bytesIn, bytesOut }) => sum + bytesIn + bytesOut, 0)
