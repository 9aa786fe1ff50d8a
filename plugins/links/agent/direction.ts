// Decides which end dials a link.
import type { Link } from '../wire.ts'

export type LinkRole = 'dialer' | 'listener'

/** The roles that this end of a link may have. */
export interface Roles {
  /** The role of the first attempt; null: neither end can listen for the other as the direction demands. */
  readonly primary: LinkRole | null
  /** The other role is tried too when the first attempt is not up after 10 s. */
  readonly hasFallback: boolean
}

export function rolesOf({ side, direction, listen_port: own, peer_port: peers }: Link): Roles {
  const nearListens = (side === 'near' ? own : peers) !== undefined
  const farListens = (side === 'far' ? own : peers) !== undefined
  const dialer = dialerOf(direction, nearListens, farListens)
  const primary = dialer === null ? null : dialer === side ? 'dialer' : 'listener'
  return { primary, hasFallback: direction === 'auto' && nearListens && farListens }
}

function dialerOf(
  direction: Link['direction'],
  nearListens: boolean,
  farListens: boolean
): Link['side'] | null {
  if (direction !== 'direct' && nearListens) return 'far'
  return direction !== 'reverse' && farListens ? 'near' : null
}
