import { type Static, Type } from 'typebox'
import { defineCode } from '../../kernel/base/errors.ts'
import { parseCursor, parseTime } from './parsing.ts'

export const invalidTimestamp = defineCode('invalid_timestamp', 400, 3)
export const invalidOutcome = defineCode('invalid_outcome', 400, 3)

const closed = { additionalProperties: false } as const
const OrNull = <T extends Type.TSchema>(schema: T) => Type.Union([schema, Type.Null()])
const Outcome = Type.Union([Type.Literal('allow'), Type.Literal('deny')], { code: invalidOutcome.code })

export const EntryRow = Type.Object(
  {
    id: Type.String({ description: 'ULID.' }),
    timestamp: Type.String({ format: 'date-time' }),
    actor: OrNull(Type.String({ description: 'user_id; null: not authenticated.' })),
    role: OrNull(Type.Union([Type.Literal('superadmin'), Type.Literal('user')])),
    auth_method: Type.String({ description: 'operator_token, api_token, session or none.' }),
    remote_addr: OrNull(
      Type.String({ description: 'null: several addresses, beyond the entries of a minute.' })
    ),
    method: Type.String(),
    path: Type.String({ description: 'Without the query; at most 512 characters.' }),
    action: Type.String({ description: 'rule.create and so on.' }),
    resource_kind: OrNull(Type.String()),
    resource_id: OrNull(Type.String()),
    outcome: Outcome,
    status: OrNull(Type.Integer({ description: 'null: changed, and the response is pending or was lost.' })),
    reason: OrNull(Type.String({ description: 'Error code of the refusal.' })),
    request_id: Type.String(),
    count: Type.Integer({ description: 'How many denials this entry counts.' })
  },
  closed
)
export type EntryRow = Static<typeof EntryRow>

export const Page = Type.Object(
  {
    entries: Type.Array(EntryRow),
    next_cursor: Type.Optional(
      Type.String({ description: 'Cursor of the next older page; absent on the last.' })
    ),
    count: Type.Integer({ description: 'Entries in this page.' })
  },
  closed
)
export type Page = Static<typeof Page>

const Time = (description: string) =>
  Type.Refine(
    Type.String({ description: `${description} RFC 3339.`, code: invalidTimestamp.code }),
    text => parseTime(text) !== null,
    () => 'must be a time such as 2026-01-31T12:00:00Z'
  )

export const Query = Type.Object(
  {
    limit: Type.Optional(
      Type.Integer({ minimum: 1, maximum: 1000, code: 'invalid_limit', description: 'Default 100.' })
    ),
    outcome: Type.Optional(Outcome),
    since: Type.Optional(Time('The oldest time.')),
    until: Type.Optional(Time('The newest time, inclusive.')),
    cursor: Type.Optional(
      Type.Refine(
        Type.String({ code: 'invalid_cursor', description: 'next_cursor of a page; empty: the newest.' }),
        text => text === '' || parseCursor(text) !== null,
        () => 'is not from a page of this list; take next_cursor'
      )
    )
  },
  closed
)
export type Query = Static<typeof Query>
