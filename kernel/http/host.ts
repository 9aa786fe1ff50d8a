import type { FastifyInstance } from 'fastify'
import type { Kernel, Plugin } from '../plugin.ts'
import { defineSlot } from '../slot.ts'

/** What a host of routes stands on. `filled` is the kernel's: authenticators and decision sinks are for it to ask. */
export interface HostOptions extends Pick<Kernel, 'store' | 'identity' | 'clock' | 'log' | 'filled'> {
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
