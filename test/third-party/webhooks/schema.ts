import { type Static, Type } from 'sluice/plugin'
import { EventName } from './settings.ts'

const Time = (description: string) => Type.String({ format: 'date-time', description })
const Nullable = <T extends ReturnType<typeof Type.String>>(schema: T) => Type.Union([schema, Type.Null()])

export const EndpointRow = Type.Object({
  name: Type.String(),
  host: Type.String({ description: 'Host of its URL. The path is hidden, since it may be secret.' }),
  events: Type.Array(EventName),
  allow_private: Type.Boolean(),
  waiting: Type.Integer({ description: 'Number of waiting events.' }),
  next_at: Nullable(Time('Time of the next attempt for the first waiting event.')),
  error: Nullable(Type.String({ description: 'Error of the last attempt for the first waiting event.' })),
  dead: Type.Integer({ description: 'Number of dead letters.' })
})
export type EndpointRow = Static<typeof EndpointRow>

export const DeadRow = Type.Object({
  delivery_id: Type.String(),
  endpoint: Type.String(),
  event: Type.String(),
  body: Type.String({ description: 'The JSON of the delivery.' }),
  attempts: Type.Integer(),
  error: Nullable(Type.String()),
  created_at: Time('Time of the event.'),
  dead_at: Time('Time when the event became a dead letter.')
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
