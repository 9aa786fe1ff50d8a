import { type Static, Type } from 'typebox'
import { defineCode } from '../../kernel/base/errors.ts'
import { closed, orNull, Time } from '../../kernel/http/schema.ts'
import { parseCursor, parseTime } from './parsing.ts'

export const invalidTimestamp = defineCode('invalid_timestamp', 400, 3)
export const invalidOutcome = defineCode('invalid_outcome', 400, 3)

const Outcome = Type.Union([Type.Literal('allow'), Type.Literal('deny')], { code: invalidOutcome.code })

export const EntryRow = closed({
  id: Type.String({ description: 'ULID.' }),
  timestamp: Time,
  actor: orNull(Type.String({ description: 'user_id; null: not authenticated.' })),
  role: orNull(Type.Union([Type.Literal('superadmin'), Type.Literal('user')])),
  auth_method: Type.String({
    description:
      'operator_token, api_token, session, system (no request made the change), none, or the method of a plugin.'
  }),
  remote_addr: orNull(
    Type.String({ description: 'null: no request, or several addresses, beyond the maximum of a minute.' })
  ),
  method: Type.String(),
  path: Type.String({ description: 'Without the query; at most 512 characters.' }),
  action: Type.String({ description: 'rule.create and so on.' }),
  resource_kind: orNull(Type.String()),
  resource_id: orNull(Type.String()),
  outcome: Outcome,
  status: orNull(Type.Integer({ description: 'null: changed, and the response is pending or was lost.' })),
  reason: orNull(Type.String({ description: 'Error code of the refusal.' })),
  request_id: Type.String(),
  count: Type.Integer({ description: 'How many requests this entry counts: denied, or refused mutations.' })
})
export type EntryRow = Static<typeof EntryRow>

export const Page = closed({
  entries: Type.Array(EntryRow),
  next_cursor: Type.Optional(
    Type.String({ description: 'Cursor of the next older page; absent on the last.' })
  ),
  count: Type.Integer({ description: 'Entries in this page.' })
})
export type Page = Static<typeof Page>

const TimeText = (description: string) =>
  Type.Refine(
    Type.String({ description: `${description} RFC 3339.`, code: invalidTimestamp.code }),
    text => parseTime(text) !== null,
    () => 'must be a time such as 2026-01-31T12:00:00Z'
  )

export const Query = closed({
  limit: Type.Optional(
    Type.Integer({ minimum: 1, maximum: 1000, code: 'invalid_limit', description: 'Default 100.' })
  ),
  outcome: Type.Optional(Outcome),
  since: Type.Optional(TimeText('The oldest time.')),
  until: Type.Optional(TimeText('The newest time, inclusive.')),
  cursor: Type.Optional(
    Type.Refine(
      Type.String({ code: 'invalid_cursor', description: 'next_cursor of a page; empty: the newest.' }),
      text => text === '' || parseCursor(text) !== null,
      () => 'is not from a page of this list; take next_cursor'
    )
  )
})
export type Query = Static<typeof Query>
