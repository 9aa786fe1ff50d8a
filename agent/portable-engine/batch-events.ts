import type { EngineEvent, EngineOptions } from '../engine/engine.ts'

/** Batches events: they are delivered together in a microtask, never from within the call that caused them. */
export function batchEvents(onEvents: EngineOptions['onEvents']) {
  let batch: EngineEvent[] = []
  const flush = () => {
    if (batch.length === 0) return
    const events = batch
    batch = []
    onEvents(events)
  }
  const emit = (event: EngineEvent) => {
    if (batch.push(event) === 1) queueMicrotask(flush)
  }
  return { emit, flush }
}
