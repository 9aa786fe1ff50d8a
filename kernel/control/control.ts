import type { Metrics } from '../metrics.ts'
import type { ManagedObjects } from './managed-objects.ts'
import type { Peers } from './peers.ts'
import type { Servers } from './servers.ts'

/** The control stream as plugins see it. */
export interface Control {
  readonly peers: Peers
  readonly objects: ManagedObjects
  readonly servers: Servers
  readonly fingerprint: string // SHA-256 of the server certificate, 64 hex digits: agents pin it
  readonly certificate: string // of the server, PEM
  /** Changes both, for streams that arrive from now on. Existing streams stay. */
  serve(certificate: string, key: string): void
  /** The configured host:port for agents, or several separated by commas. Not validated. */
  readonly configuredEndpoint: string | null
  /** Returns the port in use. Throws before the listener is up: in factories and in `start`. */
  port(): number
  readonly metrics: Metrics
}
