import type { EntitySchema } from '@mikro-orm/core'
import type { Migration } from '@mikro-orm/migrations'
import type { Resolver } from 'awilix'
import type { Static, TObject } from 'typebox'
import type { Clock } from './base/clock.ts'
import type { ErrorCode } from './base/errors.ts'
import type { Log } from './base/log.ts'
import type { Release } from './base/releases.ts'
import type { Command } from './cli/command.ts'
import type { Control } from './control/control.ts'
import type { Peer, UnauthenticatedPeer } from './control/peers.ts'
import type { Route } from './http/route.ts'
import type { Identity } from './identity/identity.ts'
import type { Metrics } from './metrics.ts'
import type { Fill, Filled, Slot, SlotReader } from './slot.ts'
import type { Database } from './store/open.ts'
import type { Codec, Handler, Message } from './wire/message.ts'

/** Everything a feature may add. All but `start` is data: reading it must have no effect. */
export interface Plugin<D extends Kernel = Kernel> {
  readonly name: string // kebab-case; also config key, table prefix, log name
  readonly version: string
  readonly kernel: string // range of this contract
  readonly needs?: Readonly<Record<string, string>> // plugin -> range; the only order there is
  readonly config?: TObject // its section [plugins.<name>]; unknown keys are refused
  readonly keys?: TObject // keys that it owns at the top of the configuration; in `config` of its services, too
  readonly codes?: readonly ErrorCode[]
  readonly store?: Store
  readonly services?: { readonly [K in keyof D]?: Resolver<D[K]> } // its own
  readonly exports?: { readonly [K in keyof D]?: Resolver<D[K]> } // seen by plugins that need this one, too
  readonly slots?: readonly Slot<never>[] // places it owns
  readonly fills?: readonly Fill<D>[] // places of others that it fills
  readonly messages?: readonly Message[] // of its own .proto
  readonly handlers?: readonly Handler<PeerCall<D>>[] // what a connected agent may say
  readonly preAuthHandlers?: readonly Handler<UnauthenticatedCall<D>>[] // what may be said before Hello
  readonly routes?: readonly Route<D>[]
  readonly commands?: readonly Command[]
  /** Acquire what needs acquiring; hand each release to `defer`. There is no stop(). */
  start?(scope: Scope<D>): Promise<void>
}

/** What the kernel offers: the first names in every plugin's container. */
export interface Kernel<C extends TObject = TObject> {
  readonly config: Static<C>
  readonly log: Log
  readonly clock: Clock
  readonly store: Pick<Database, 'read' | 'change'>
  readonly identity: Identity
  readonly control: Control
  readonly codec: Codec
  readonly filled: SlotReader
  /** The OpenAPI document of all routes. */
  readonly document: () => object
  /** What all plugins can tell of themselves; from `start` on. */
  readonly metrics: () => readonly Filled<Metrics>[]
}

export interface Scope<D> {
  readonly deps: D
  readonly defer: (release: Release) => void
  readonly signal: AbortSignal
}

export interface Store {
  readonly entities: readonly EntitySchema[]
  /** Named '<number>-<what>'; never renamed after a release. */
  readonly migrations: readonly { readonly name: string; readonly class: MigrationClass }[]
}
export type MigrationClass = new (...args: ConstructorParameters<typeof Migration>) => Migration

export interface PeerCall<D> {
  readonly peer: Peer
  readonly deps: D
}

export interface UnauthenticatedCall<D> {
  readonly peer: UnauthenticatedPeer
  readonly deps: D
}

// Members that take `D` are methods, not arrows: TypeScript compares methods both ways, and so a plugin,
// route or field of any shape is a Plugin, Route or RuleField without a cast. container.ts hands each its D.

export function definePlugin<D extends Kernel = Kernel>(plugin: Plugin<D>): Plugin {
  return Object.freeze(plugin)
}
