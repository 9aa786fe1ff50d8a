// The messages of links between the server and its agents. Both halves share them.
import { type Static, Type } from 'typebox'
import type { DeclaredObject } from '../../agent/wire/derived-object.ts'
import { maxTargetMatches, TargetMatch } from '../../agent/wire/target-match.ts'
import { Revision } from '../../kernel/wire/control.ts'
import { type Capability, defineMessage, defineRequest } from '../../kernel/wire/message.ts'

const proto = new URL('./links.proto', import.meta.url)

export const linkKind = 'link'
export const exitKind = 'exit'
export const capability: Capability = { id: 'link', since: '1.0.0' }

export const maxPath = 3 // clients in `via`
export const maxTestBytes = 64 * 1024 * 1024
export const maxTestSecs = 10
const maxHosts = 8
const maxPins = 2
export const maxTargets = 8

export const Id = Type.String({ pattern: '^[0-7][0-9A-HJKMNP-TV-Z]{25}$' })
const Name = Type.String({ maxLength: 255 })
const Pin = Type.String({ pattern: '^[0-9a-f]{64}$' })
const Port = Type.Integer({ minimum: 1, maximum: 65_535 })
/** Names a target of a rule at all clients of its path; see `targetKey`. */
export const TargetKey = Type.Integer({ minimum: 0, maximum: 0xffff_ffff })
const Milliseconds = Type.Number({ minimum: 0, maximum: 1e9 })
const Rate = Type.Number({ minimum: 0, maximum: Number.MAX_SAFE_INTEGER }) // bits per second
const Total = Type.Integer({ minimum: 0, maximum: Number.MAX_SAFE_INTEGER })
const Code = Type.String({ pattern: '^[a-z][a-z0-9_]{0,63}$' })

const Direction = Type.Union([Type.Literal('auto'), Type.Literal('reverse'), Type.Literal('direct')])
const Role = Type.Union([Type.Literal('dialer'), Type.Literal('listener')])

/** States that agents report. The server adds `degraded`. */
const State = Type.Union([
  Type.Literal('unused'),
  Type.Literal('connecting'),
  Type.Literal('up'),
  Type.Literal('down')
])

/** Why a link is down. */
export const downReasons = [
  'unreachable',
  'refused',
  'timeout',
  'pin_mismatch',
  'no_endpoint',
  'peer_revoked',
  'peer_away',
  'port_in_use',
  'denied_by_agent'
] as const

const Link = Type.Object({
  id: Id,
  side: Type.Union([Type.Literal('near'), Type.Literal('far')]),
  peer_id: Id,
  peer_name: Name,
  peer_pins: Type.Array(Pin, { maxItems: maxPins }),
  direction: Direction,
  listen_port: Type.Optional(Port),
  peer_port: Type.Optional(Port),
  peer_hosts: Type.Array(Type.String({ minLength: 1, maxLength: 253 }), { maxItems: maxHosts }),
  max_idle: Type.Integer({ minimum: 2, maximum: 64 }),
  dead_secs: Type.Integer({ minimum: 10, maximum: 3600 }),
  lease_hours: Type.Integer({ minimum: 0, maximum: 720 })
})
export type Link = Static<typeof Link>

const LinkApplied = defineMessage({
  name: 'sluice.links.LinkApplied',
  proto,
  body: Type.Object({ id: Id, revision: Revision })
})

export const LinkSet = defineRequest({
  name: 'sluice.links.LinkSet',
  proto,
  body: Type.Object({ revision: Revision, link: Link }),
  response: LinkApplied
})

export const LinkRemove = defineRequest({
  name: 'sluice.links.LinkRemove',
  proto,
  body: Type.Object({
    id: Id,
    revision: Revision,
    removal: Type.Union([Type.Literal('drain'), Type.Literal('cut')])
  }),
  response: LinkApplied
})

const Done = defineMessage({ name: 'sluice.links.Done', proto, body: Type.Object({}) })

const KeyStored = defineMessage({
  name: 'sluice.links.KeyStored',
  proto,
  body: Type.Object({
    neighbors_know_next: Type.Boolean(),
    key_days: Type.Integer({ minimum: 0, maximum: 3650 })
  })
})

export const KeyReport = defineRequest({
  name: 'sluice.links.KeyReport',
  proto,
  body: Type.Object({ pin: Pin, next_pin: Type.Optional(Pin) }),
  response: KeyStored
})

export const KeyRotate = defineRequest({
  name: 'sluice.links.KeyRotate',
  proto,
  body: Type.Object({}),
  response: Done
})

export const KeySwitch = defineRequest({
  name: 'sluice.links.KeySwitch',
  proto,
  body: Type.Object({ next_pin: Pin }),
  response: Done
})

const Counts = Type.Array(Type.Object({ key: Code, value: Total }), { maxItems: 32 })

const LinkStatus = Type.Object({
  id: Id,
  state: State,
  reason: Type.Optional(Code),
  role: Type.Optional(Role),
  rtt_last_ms: Type.Optional(Milliseconds),
  rtt_p50_ms: Type.Optional(Milliseconds),
  rtt_p99_ms: Type.Optional(Milliseconds),
  loss_percent: Type.Optional(Type.Number({ minimum: 0, maximum: 100 })),
  open: Total,
  idle: Total,
  bytes_in: Total,
  bytes_out: Total,
  opens: Counts,
  handshakes: Counts
})
export type LinkStatus = Static<typeof LinkStatus>

/** An agent with more links sends several. */
export const maxReported = 100

export const StatusReport = defineRequest({
  name: 'sluice.links.StatusReport',
  proto,
  body: Type.Object({ links: Type.Array(LinkStatus, { maxItems: maxReported }) }),
  response: Done
})

const LinkTested = defineMessage({
  name: 'sluice.links.LinkTested',
  proto,
  body: Type.Object({
    rtt_ms: Type.Optional(Milliseconds),
    handshake_ms: Type.Optional(Milliseconds),
    up_bps: Type.Optional(Rate),
    down_bps: Type.Optional(Rate),
    error: Type.Optional(Code)
  })
})

export const LinkTest = defineRequest({
  name: 'sluice.links.LinkTest',
  proto,
  body: Type.Object({
    id: Id,
    bytes: Type.Integer({ minimum: 0, maximum: maxTestBytes }),
    secs: Type.Integer({ minimum: 1, maximum: maxTestSecs })
  }),
  response: LinkTested
})

const HopState = defineMessage({
  name: 'sluice.links.HopState',
  proto,
  body: Type.Object({
    refusal: Type.Optional(Code),
    state: Type.Optional(State),
    reason: Type.Optional(Code),
    is_exhausted: Type.Boolean(),
    rtt_ms: Type.Optional(Milliseconds)
  })
})
export type HopState = Static<typeof HopState.body>

export const HopCheck = defineRequest({
  name: 'sluice.links.HopCheck',
  proto,
  body: Type.Object({
    rule_id: Id,
    key: TargetKey,
    previous: Type.Optional(Id),
    link_id: Type.Optional(Id)
  }),
  response: HopState
})
export type HopCheck = Static<typeof HopCheck.body>

/**
 * The part of a rule at one client of its path. A request over a link names the rule, the key of a target and the offset in a
 * range of ports, never a host. While a change of the rule is pending, its earlier targets are there, too.
 */
export const exitObject = {
  kind: exitKind,
  capability,
  body: Type.Object({
    entry_id: Id,
    entry_name: Name,
    owner: Type.String({ maxLength: 255 }),
    ports: Type.Integer({ minimum: 1, maximum: 65_535 }), // of the range
    prefer_ipv6: Type.Boolean(),
    targets: Type.Array(
      Type.Object({
        key: TargetKey,
        previous: Id, // the client that may open it
        next: Type.Optional(Id), // absent: this client dials the target
        host: Type.Optional(Type.String({ maxLength: 253 })), // at the client that dials
        port: Type.Optional(Port)
      }),
      { maxItems: 2 * maxTargets }
    ),
    // Targets that the grants of the owner allow at the client that dials. absent: any; an empty list: none.
    allow: Type.Optional(Type.Object({ matches: Type.Array(TargetMatch, { maxItems: maxTargetMatches }) }))
  })
} satisfies DeclaredObject

export type ExitPart = Static<typeof exitObject.body>

export const messages = [
  LinkSet,
  LinkRemove,
  LinkApplied,
  KeyReport,
  KeyStored,
  KeyRotate,
  KeySwitch,
  Done,
  StatusReport,
  LinkTest,
  LinkTested,
  HopCheck,
  HopState
]
