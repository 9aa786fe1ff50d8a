import type { EngineEvent, Resolved } from '../engine/engine.ts'
import type { AddressSet } from '../net/address-set.ts'
import type { EndedConnections } from './ended-connections.ts'
import type { Meters } from './meters/meters.ts'
import type { Descriptors } from './net/descriptors.ts'
import type { LocalPorts } from './net/local-ports.ts'
import type { OwnPorts } from './net/own-ports.ts'
import type { SourceLimits } from './source-limits.ts'
import type { AskForDial } from './target-dials.ts'
import type { PeekHistogram } from './tcp/peek-histogram.ts'
import type { PeerWatch } from './tcp/peer-watch.ts'

/** State that all rules of one engine share. */
export interface EngineContext {
  readonly bind: readonly string[]
  readonly ownPorts: OwnPorts // of one protocol
  readonly descriptors: Descriptors
  readonly localPorts: LocalPorts
  readonly meters: Meters
  readonly peeks: PeekHistogram
  readonly peers: PeerWatch
  readonly ended: EndedConnections
  readonly sourceLimits: SourceLimits
  addressSet(name: string): AddressSet
  emit(event: EngineEvent): void
  /** Returns the addresses of a DNS name. Asks the agent if they are unknown. */
  resolve(ruleId: number, host: string): Promise<Resolved>
  /** Lets the agent dial a target with a dialer. */
  readonly askForDial: AskForDial
}
