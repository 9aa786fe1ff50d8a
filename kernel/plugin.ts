import type { Resolver } from 'awilix'
import type { TObject } from 'typebox'
import type { ErrorCode } from './base/errors.ts'
import type { Release } from './base/releases.ts'
import type { Command } from './cli/command.ts'
import type { Peer, UnauthenticatedPeer } from './control/peers.ts'
import type { Route } from './http/route.ts'
import type { Kernel } from './services.ts'
import type { Fill, Slot } from './slot.ts'
import type { Store } from './store/sql/migrations.ts'
import type { Handler, Message } from './wire/message.ts'

export type { Kernel } from './services.ts'

/** Everything that a feature may add. All members except `start` are data: reading them has no effect. */
export interface Plugin<D extends Kernel = Kernel> {
  readonly name: string // kebab-case; also config section, table prefix, name in the log
  readonly version: string
  readonly description?: string // one sentence, of its routes in OpenAPI
  readonly kernel: string // version range of this contract
  readonly needs?: Readonly<Record<string, string>> // plugin to version range; defines the order of starts
  readonly config?: TObject // its section [plugins.<name>]; unknown keys are refused
  readonly keys?: TObject // its keys at the top of the configuration; they are in its services' `config`, too
  readonly codes?: readonly ErrorCode[]
  readonly store?: Store
  readonly services?: { readonly [K in keyof D]?: Resolver<D[K]> } // private
  readonly exports?: { readonly [K in keyof D]?: Resolver<D[K]> } // visible to plugins that need this one
  readonly slots?: readonly Slot<never>[] // owned by it
  readonly fills?: readonly Fill<D>[] // its values in slots of others
  readonly messages?: readonly Message[] // beside those of `fills`
  readonly handlers?: readonly Handler<PeerCall<D>>[] // messages of connected agents
  readonly preAuthHandlers?: readonly Handler<UnauthenticatedCall<D>>[] // messages before Hello
  readonly prefix?: `/${string}` // of its routes outside /v1: '/status' for /status, /status/... and /status.json; no two plugins have the same
  readonly routes?: readonly Route<D>[]
  readonly commands?: readonly Command[]
  /** Acquires resources, and passes each release to `defer`. There is no stop(). */
  start?(scope: Scope<D>): Promise<void>
}

export interface Scope<D> {
  readonly deps: D
  readonly defer: (release: Release) => void
  readonly signal: AbortSignal
}

export interface PeerCall<D> {
  readonly peer: Peer
  readonly deps: D
}

export interface UnauthenticatedCall<D> {
  readonly peer: UnauthenticatedPeer
  readonly deps: D
}

// Members that take `D` are methods, not arrow functions: TypeScript compares methods bivariantly, so that a plugin or
// route with any `D` is a Plugin or Route without a cast. container.ts passes each one its `D`.

export function definePlugin<D extends Kernel = Kernel>(plugin: Plugin<D>): Plugin {
  const messages = (plugin.fills ?? []).flatMap(fill => fill.messages ?? [])
  return Object.freeze({ ...plugin, messages: [...(plugin.messages ?? []), ...messages] })
}
