// The kinds of rules that the matrix covers.
import type { Protocol } from './callers.ts'

export interface RuleKind {
  readonly name: string
  readonly protocol: Protocol
  /** Number of consecutive listen ports. */
  readonly portCount: number
  /** Nothing listens on the first target. */
  readonly firstTargetFails: boolean
  /** Selected by TLS server name; the neighbour has another name on the same port. */
  readonly hasServerName: boolean
  /** Additional fields of the request body. */
  readonly extraFields: object
}

const plain: RuleKind = {
  name: 'plain',
  protocol: 'tcp',
  portCount: 1,
  firstTargetFails: false,
  hasServerName: false,
  extraFields: {}
}
const range: RuleKind = { ...plain, name: 'range', portCount: 4 }
const sni: RuleKind = { ...plain, name: 'SNI', hasServerName: true }
const sniSeveral: RuleKind = { ...sni, name: 'SNI with several targets', firstTargetFails: true }
const udp: RuleKind = { ...plain, name: 'UDP', protocol: 'udp' }
const udpRange: RuleKind = { ...udp, name: 'UDP range', portCount: 4 }
const watched: RuleKind = {
  ...plain,
  name: 'plain with active health',
  extraFields: { health_check_interval_secs: 1 }
}
const capped: RuleKind = {
  ...plain,
  name: 'capped',
  extraFields: { rate_limit: { bandwidth_in_bps: 80_000_000, concurrent_connections: 100 } }
}

/** The kinds that the matrix combines with each limit. */
export const ruleKinds: readonly RuleKind[] = [
  plain,
  range,
  { ...plain, name: 'multi-target', firstTargetFails: true },
  sni,
  sniSeveral,
  udp,
  udpRange,
  watched
]

/** The kinds for a restarted agent that restores its rules without the server. */
export const restoredKinds: readonly RuleKind[] = [plain, sniSeveral, udpRange]

/** The kinds for a second target that takes over. */
export const failoverKinds: readonly RuleKind[] = [plain, range, sni, capped, watched, udp, udpRange]
