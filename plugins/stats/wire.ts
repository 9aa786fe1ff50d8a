import { type Static, Type } from 'typebox'
import { defineMessage, defineRequest } from '../../kernel/wire/message.ts'

const proto = new URL('./stats.proto', import.meta.url)

const Epoch = Type.String({ pattern: '^[0-9a-f]{32}$' })
const Count = Type.Integer({ minimum: 0, maximum: Number.MAX_SAFE_INTEGER })
const Time = Type.Number({ minimum: 0, maximum: 8.64e15 }) // what a Date holds

export const Row = Type.Object({
  rule_id: Type.String({ maxLength: 26 }),
  kind: Type.String({ maxLength: 16 }),
  key: Type.String({ maxLength: 264 }),
  bytes_in: Count,
  bytes_out: Count,
  datagrams_in: Count,
  datagrams_out: Count,
  connections: Count,
  dns_failures: Count,
  failovers: Count,
  overflows: Count,
  rejected: Count
})
export type Row = Static<typeof Row>

export const Live = Type.Object({ rule_id: Type.String(), port: Count, connections: Count })
export type Live = Static<typeof Live>

export const Booked = defineMessage({
  name: 'sluice.stats.Booked',
  proto,
  body: Type.Object({ epoch: Epoch, seq: Count })
})

export const StatsReport = defineRequest({
  name: 'sluice.stats.StatsReport',
  proto,
  body: Type.Object({
    epoch: Epoch,
    seq: Count,
    part: Count,
    last: Type.Boolean(),
    rows: Type.Array(Row),
    live: Type.Array(Live),
    gap: Type.Optional(Type.Object({ from_ms: Time, to_ms: Time }))
  }),
  response: Booked
})
export type StatsReport = Static<(typeof StatsReport)['body']>

export const Ledger = defineMessage({
  name: 'sluice.stats.Ledger',
  proto,
  body: Type.Object({ booked: Type.Record(Type.String(), Count) })
})

export const Reported = defineMessage({ name: 'sluice.stats.Reported', proto, body: Type.Object({}) })

export const LastReport = defineRequest({
  name: 'sluice.stats.LastReport',
  proto,
  body: Type.Object({}),
  response: Reported
})

/** Under which the server's half speaks in Welcome. */
export const part = 'stats'

export const messages = [StatsReport, Booked, Ledger, LastReport, Reported]
