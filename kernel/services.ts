import type { Static, TObject } from 'typebox'
import type { Clock } from './base/clock.ts'
import type { Log } from './base/log.ts'
import type { Control } from './control/control.ts'
import type { Identity } from './identity/identity.ts'
import type { Metrics } from './metrics.ts'
import type { Filled, SlotReader } from './slot.ts'
import type { Database } from './store/open.ts'
import type { Codec } from './wire/message.ts'

/** The services of the kernel. Every plugin has them in its container. */
export interface Kernel<C extends TObject = TObject> {
  readonly config: Static<C>
  readonly log: Log
  readonly clock: Clock
  readonly store: Omit<Database, 'close'>
  readonly identity: Identity
  readonly control: Control
  readonly codec: Codec
  readonly dataDir: string
  /** Reads slots of this plugin. */
  readonly filled: SlotReader
  /** Returns the OpenAPI document of all routes. */
  readonly document: () => object
  /** Returns the metrics of all plugins. Available once `start` runs. */
  readonly metrics: () => readonly Filled<Metrics>[]
}
