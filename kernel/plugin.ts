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

/** Everything that a feature can add. All members except `start` are data: reading them has no effect. */
export interface Plugin<D extends Kernel = Kernel> {
  readonly name: string // kebab-case; also names its config section, tables and log lines
  readonly version: string
  readonly description?: string // one sentence about its routes, for OpenAPI
  readonly kernel: string // version range of this contract
  readonly needs?: Readonly<Record<string, string>> // plugin to version range; defines the order of starts
  readonly config?: TObject // section [plugins.<name>]; unknown keys are refused
  readonly keys?: TObject // top-level keys; its services get them in `config`, too
  readonly codes?: readonly ErrorCode[]
  readonly store?: Store
  readonly services?: { readonly [K in keyof D]?: Resolver<D[K]> } // private
  readonly exports?: { readonly [K in keyof D]?: Resolver<D[K]> } // visible to plugins that need this one
  readonly slots?: readonly Slot<never>[] // owned by it
  readonly fills?: readonly Fill<D>[] // its values in slots of others
  readonly messages?: readonly Message[] // beside those of `fills`
  readonly handlers?: readonly Handler<PeerCall<D>>[] // messages of connected agents
  readonly preAuthHandlers?: readonly Handler<UnauthenticatedCall<D>>[] // messages before Hello
  readonly prefix?: `/${string}` // unique, for routes outside /v1: '/status' covers /status, /status/... and /status.json
  readonly routes?: readonly Route<D>[]
  readonly commands?: readonly Command[]
  /** Checks what schemas cannot: files, names of other `plugins`. `config` has all top-level keys. Throws Fault; changes nothing. Runs before `start`, and alone. */
  checkConfig?(config: D['config'], plugins: readonly Pick<Plugin, 'fills'>[]): void
  /** Acquires resources and passes each release to `defer`; there is no stop(). */
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

// Members that take `D` are methods: TypeScript compares methods bivariantly, so that a plugin or route with any `D` is a
// Plugin or Route without a cast. container.ts passes each one its `D`.

export function definePlugin<D extends Kernel = Kernel>(plugin: Plugin<D>): Plugin {
  const messages = (plugin.fills ?? []).flatMap(fill => fill.messages ?? [])
  return Object.freeze({ ...plugin, messages: [...(plugin.messages ?? []), ...messages] })
}
