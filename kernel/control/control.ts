import type { Metrics } from '../metrics.ts'
import type { Kernel } from '../plugin.ts'
import { defineSlot } from '../slot.ts'
import type { BoundHandler } from '../wire/message.ts'
import type { ManagedObjects } from './managed-objects.ts'
import type { Peer, Peers, UnauthenticatedPeer } from './peers.ts'

/** The control stream as plugins see it. */
export interface Control {
  readonly peers: Peers
  readonly objects: ManagedObjects
  /** SHA-256 of the server's leaf, 64 hex digits: what an agent pins. */
  readonly fingerprint: string
  /** The leaf, PEM: for judging which names it covers. */
  readonly certificate: string
  /** The configured host:port under which agents reach it; nobody has judged it yet. */
  readonly configuredEndpoint: string | null
  /** The port in use. Known when the listener is up: not in a factory and not in `start`. */
  port(): number
  /** Of its streams. */
  readonly metrics: Metrics
}

/** What a host of the control stream stands on. It opens before the plugins are wired: `config` is its settled own. */
export interface ControlOptions
  extends Pick<Kernel, 'config' | 'store' | 'clock' | 'log' | 'codec' | 'filled'> {
  readonly dataDir: string
  readonly version: string // of the server
  /** These and `filled` are called only when a stream comes. */
  readonly handlers: (peer: Peer) => readonly BoundHandler[]
  readonly preAuthHandlers: (stranger: UnauthenticatedPeer) => readonly BoundHandler[]
}

export interface ControlHost extends Control {
  listen(): Promise<void>
  close(): Promise<void>
}

export type OpenControl = (options: ControlOptions) => Promise<ControlHost>

/** One plugin keeps the control stream. Filled with a bare value: there are no services when it is read. */
export const controlSlot = defineSlot<OpenControl>('kernel.control')
