// What a rule can be.
import type { Protocol } from './callers.ts'

export interface Kind {
  readonly name: string
  readonly protocol: Protocol
  /** Ports in a row. */
  readonly width: number
  /** Nothing listens on its first target. */
  readonly isFirstDead: boolean
  /** By TLS name: the neighbour has another name of the same port. */
  readonly isNamed: boolean
  /** More of the rule's body. */
  readonly more: object
}

const plain: Kind = {
  name: 'plain',
  protocol: 'tcp',
  width: 1,
  isFirstDead: false,
  isNamed: false,
  more: {}
}
const range: Kind = { ...plain, name: 'range', width: 4 }
const sni: Kind = { ...plain, name: 'SNI', isNamed: true }
const sniSeveral: Kind = { ...sni, name: 'SNI with several targets', isFirstDead: true }
const udp: Kind = { ...plain, name: 'UDP', protocol: 'udp' }
const udpRange: Kind = { ...udp, name: 'UDP range', width: 4 }
const watched: Kind = {
  ...plain,
  name: 'plain with active health',
  more: { health_check_interval_secs: 1 }
}
const capped: Kind = {
  ...plain,
  name: 'capped',
  more: { rate_limit: { bandwidth_in_bps: 80_000_000, concurrent_connections: 100 } }
}

/** Crossed with each limit. */
export const kinds: readonly Kind[] = [
  plain,
  range,
  { ...plain, name: 'multi-target', isFirstDead: true },
  sni,
  sniSeveral,
  udp,
  udpRange,
  watched
]

/** These are opened again by an agent that was killed while its server was away. */
export const reopened: readonly Kind[] = [plain, sniSeveral, udpRange]

/** These have a second target that takes over. */
export const several: readonly Kind[] = [plain, range, sni, capped, watched, udp, udpRange]
