import { type Static, Type } from 'typebox'
import { type Capability, Count, defineMessage, defineRequest } from '../../kernel/wire/message.ts'

const proto = new URL('./connections.proto', import.meta.url)

export const capability: Capability = { id: 'connections', since: '2.0.0' }

/** Agents with it know `Selection.path_words`: others would select all connections. */
export const pathCapability: Capability = { id: capability.id, since: '2.1.0' }

export const Sort = Type.Union([
  Type.Literal('age'),
  Type.Literal('bytes'),
  Type.Literal('rate'),
  Type.Literal('idle')
])
export type Sort = Static<typeof Sort>

export const maxRows = 500 // 510 bytes each at most, to fit a frame of 256 KiB
const maxIds = 1000
export const maxPathWords = 100
const maxPath = 128 // as planned

const HostPort = Type.String({ maxLength: 64 }) // host:port
const RuleId = Type.String({ maxLength: 26 })
const Protocol = Type.Union([Type.Literal('tcp'), Type.Literal('udp')])

export const Selection = Type.Object({
  rule_id: Type.Optional(RuleId),
  owner: Type.Optional(Type.String({ maxLength: 32 })),
  protocol: Type.Optional(Protocol),
  source: Type.Optional(Type.String({ maxLength: 64 })),
  target: Type.Optional(Type.String({ maxLength: 64 })),
  target_port: Type.Optional(Type.Integer({ minimum: 1, maximum: 65_535 })),
  ids: Type.Array(Count, { maxItems: maxIds }),
  path_words: Type.Array(Type.String({ minLength: 1, maxLength: maxPath }), { maxItems: maxPathWords })
})
export type Selection = Static<typeof Selection>

const Leg = Type.Object({ rtt_ms: Type.Number({ minimum: 0, maximum: 1e9 }), retransmits: Count })

const Row = Type.Object({
  id: Count,
  key: Type.Number({ minimum: 0, maximum: 1e300 }),
  rule_id: RuleId,
  protocol: Protocol,
  source: HostPort,
  listen: HostPort,
  target: HostPort,
  divert: Type.Optional(Type.String({ maxLength: 64 })),
  path: Type.Optional(Type.String({ maxLength: maxPath })), // not with a divert
  age_ms: Count,
  idle_ms: Count,
  bytes_in: Count,
  bytes_out: Count,
  held_by: Type.String({ maxLength: 64 }),
  caller: Type.Optional(Leg),
  server: Type.Optional(Leg)
})
export type Row = Static<typeof Row>

const Rows = defineMessage({
  name: 'sluice.connections.Rows',
  proto,
  body: Type.Object({
    run: Type.String({ maxLength: 26 }),
    matched: Count,
    bytes_in: Count,
    bytes_out: Count,
    rows: Type.Array(Row, { maxItems: maxRows })
  })
})

export const List = defineRequest({
  name: 'sluice.connections.List',
  proto,
  body: Type.Object({
    selection: Selection,
    sort: Sort,
    limit: Type.Integer({ minimum: 0, maximum: maxRows }),
    after_key: Type.Optional(Type.Number({ minimum: 0, maximum: 1e300 })),
    after_id: Type.Optional(Count)
  }),
  response: Rows
})

const Closed = defineMessage({
  name: 'sluice.connections.Closed',
  proto,
  body: Type.Object({ count: Count })
})

export const Close = defineRequest({
  name: 'sluice.connections.Close',
  proto,
  body: Type.Object({ selection: Selection, run: Type.String({ maxLength: 26 }) }),
  response: Closed
})

export const messages = [List, Rows, Close, Closed]
