import { type Static, Type } from 'sluice/plugin'
import { EventName } from './settings.ts'

const Time = (description: string) => Type.String({ format: 'date-time', description })
const Nullable = <T extends ReturnType<typeof Type.String>>(schema: T) => Type.Union([schema, Type.Null()])

export const EndpointRow = Type.Object({
  name: Type.String(),
  host: Type.String({ description: 'Of its URL, whose path may be a secret.' }),
  events: Type.Array(EventName),
  allow_private: Type.Boolean(),
  waiting: Type.Integer({ description: 'Events that are still to be delivered.' }),
  next_at: Nullable(Time('When the first of them is tried next.')),
  error: Nullable(Type.String({ description: 'Why the first of them failed last.' })),
  dead: Type.Integer({ description: 'Events that were given up.' })
})
export type EndpointRow = Static<typeof EndpointRow>

export const DeadRow = Type.Object({
  delivery_id: Type.String(),
  endpoint: Type.String(),
  event: Type.String(),
  body: Type.String({ description: 'JSON, as it was sent.' }),
  attempts: Type.Integer(),
  error: Nullable(Type.String()),
  created_at: Time('When it happened.'),
  dead_at: Time('When it was given up.')
})
export type DeadRow = Static<typeof DeadRow>

export const TestRow = Type.Object({
  delivery_id: Type.String(),
  delivered: Type.Boolean(),
  status: Type.Union([Type.Integer(), Type.Null()]),
  error: Nullable(Type.String()),
  took_ms: Type.Integer()
})
export type TestRow = Static<typeof TestRow>
