import type { FastifyInstance } from 'fastify'
import type { Plugin } from '../plugin.ts'
import type { Kernel } from '../services.ts'
import { defineSlot } from '../slot.ts'

/** `filled` reads the kernel's slots, such as authenticators. */
export interface HostOptions extends Pick<Kernel, 'store' | 'identity' | 'clock' | 'log' | 'filled'> {
  readonly version: string
}

/** Serves the routes of all plugins: authentication, validation, idempotency, paging and error replies. */
export interface HttpHost {
  readonly app: FastifyInstance
  mount(plugin: Plugin, deps: Kernel): Promise<void>
  /** Returns OpenAPI 3.1 of all mounted routes. */
  document(): object
  /** Returns the origin at which the host listens. */
  listen(): Promise<{ readonly origin: string }>
  /** Reads a renewed certificate and returns its expiry. On a Fault the old one stays. */
  renewCertificate?(config: object): string | null
  /** Refuses new requests and waits for those in progress. */
  close(): Promise<void>
}

/** Exactly one plugin fills it. */
export const hostSlot = defineSlot<(options: HostOptions) => Promise<HttpHost>>('kernel.host')
