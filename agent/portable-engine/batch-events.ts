import type { EngineEvent, EngineOptions } from '../engine/engine.ts'

export interface EventBatch {
  emit(event: EngineEvent): void
  /** Delivers the events now. */
  flush(): void
}

/** Batches events. They are delivered together in a microtask, never within the call that caused them. */
export function batchEvents(onEvents: EngineOptions['onEvents']): EventBatch {
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
