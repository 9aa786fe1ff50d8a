import type { FastifyInstance } from 'fastify'
import type { Clock } from '../base/clock.ts'
import type { Log } from '../base/log.ts'
import type { Identity } from '../identity/identity.ts'
import type { Kernel, Plugin } from '../plugin.ts'
import { defineSlot, type FilledBy } from '../slot.ts'
import type { Database } from '../store/open.ts'

/** What a host of routes stands on. */
export interface HostOptions {
  readonly store: Pick<Database, 'read' | 'change'>
  readonly identity: Identity
  readonly clock: Clock
  readonly log: Log
  readonly filled: FilledBy // the kernel's: authenticators and decision sinks are for the host to ask
  readonly version: string
}

/** Serves the routes of all plugins, and does for every route what no route does for itself. */
export interface HttpHost {
  readonly app: FastifyInstance
  mount(plugin: Plugin, deps: Kernel): Promise<void>
  /** OpenAPI 3.1, of all routes mounted. */
  document(): object
  /** Under which origin it is reached from here on. */
  listen(): Promise<{ readonly origin: string }>
  /** No new requests; those that run end. */
  close(): Promise<void>
}

export type OpenHost = (options: HostOptions) => Promise<HttpHost>

/** One plugin serves routes: no more, and no less. */
export const hostSlot = defineSlot<OpenHost>('kernel.host')
