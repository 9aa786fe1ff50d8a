import type { EngineEvent, Resolved } from '../engine.ts'
import type { EndedConnections } from './ended-connections.ts'
import type { Meters } from './meters/meters.ts'
import type { Descriptors } from './net/descriptors.ts'
import type { OwnPorts } from './net/own-ports.ts'
import type { PeekHistogram } from './tcp/peek-histogram.ts'

/** State that all rules of one engine share. */
export interface EngineContext {
  readonly bind: readonly string[]
  readonly ownPorts: OwnPorts // of one protocol
  readonly descriptors: Descriptors
  readonly meters: Meters
  readonly peeks: PeekHistogram
  readonly ended: EndedConnections
  emit(event: EngineEvent): void
  /** Asks the agent for the addresses of a DNS name. */
  resolve(ruleId: number, host: string): Promise<Resolved>
}
