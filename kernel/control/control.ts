import type { Held } from './held.ts'
import type { Peers } from './peers.ts'

/** The control stream as plugins see it. */
export interface Control {
  readonly peers: Peers
  readonly held: Held
  /** SHA-256 of the server's leaf, 64 hex digits: what an agent pins. */
  readonly fingerprint: string
  /** The leaf, PEM: for judging which names it covers. */
  readonly certificate: string
  /** The port in use. Known when the listener is up: not in a factory and not in `start`. */
  port(): number
}
