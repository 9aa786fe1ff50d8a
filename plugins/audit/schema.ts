import { type Static, Type } from 'typebox'
import { defineCode } from '../../kernel/base/errors.ts'
import { closed, orNull, timeOf } from '../../kernel/http/schema.ts'
import { TimeText } from '../http/exports.ts'
import { parseCursor } from './cursor.ts'

export const invalidOutcome = defineCode('invalid_outcome', 400, 3)

const Outcome = Type.Union([Type.Literal('allow'), Type.Literal('deny')], {
  code: invalidOutcome.code,
  description: 'Only entries with this outcome.'
})

export const EntryRow = closed(
  {
    id: Type.String({ description: 'ULID.', examples: ['01KCD3F0P7Q4Y6Z8V1T5S9R2NU'] }),
    timestamp: timeOf('When it was decided.'),
    actor: orNull(Type.String({ description: 'user_id; null: not authenticated.', examples: ['ann'] })),
    role: orNull(
      Type.Union([Type.Literal('superadmin'), Type.Literal('user')], { description: 'Of the actor.' })
    ),
    auth_method: Type.String({
      description:
        'operator_token, api_token, session, system (no request made the change), none, or the method of a plugin.',
      examples: ['api_token']
    }),
    remote_addr: orNull(
      Type.String({
        description: 'null: no request, or several addresses, beyond the maximum of a minute.',
        examples: ['198.51.100.7']
      })
    ),
    method: Type.String({ description: 'Of the request; empty without one.', examples: ['POST'] }),
    path: Type.String({
      description: 'Without the query; at most 512 characters; empty without a request.',
      examples: ['/v1/rules']
    }),
    action: Type.String({
      description: 'rule.create and so on: the id of the operation.',
      examples: ['rule.create']
    }),
    resource_kind: orNull(Type.String({ description: 'What was changed.', examples: ['rule'] })),
    resource_id: orNull(Type.String({ description: 'Its id.', examples: ['01KCD3F0P7Q4Y6Z8V1T5S9R2NB'] })),
    outcome: Type.Union([Type.Literal('allow'), Type.Literal('deny')], {
      description: 'deny: the caller might not do it.'
    }),
    status: orNull(
      Type.Integer({
        description: 'null: changed, and the response is pending or was lost.',
        examples: [201]
      })
    ),
    reason: orNull(Type.String(), { description: 'Error code of the refusal.', examples: [null] }),
    changes: orNull(
      Type.Array(
        closed({
          field: Type.String({ description: 'As in requests.', examples: ['targets'] }),
          from: Type.Unknown({ description: 'What it was; of a long value the beginning of its JSON.' }),
          to: Type.Unknown({ description: 'What it is; null: nothing.' })
        })
      ),
      { description: 'What a change of an object changed; null: not told.', examples: [null] }
    ),
    request_id: Type.String({ description: 'x-request-id.', examples: ['01KCD3F0P7Q4Y6Z8V1T5S9R2NR'] }),
    count: Type.Integer({
      description: 'How many requests this entry counts: denied, or refused mutations.',
      examples: [1]
    })
  },
  { $id: 'AuditEntry' }
)
export type EntryRow = Static<typeof EntryRow>

export const Page = closed(
  {
    entries: Type.Array(EntryRow, { description: 'The newest first.' }),
    next_cursor: Type.Optional(
      Type.String({
        description: 'Cursor of the next older page; absent on the last.',
        examples: ['MDFLQ0QzRjBQN1E0WTZaOA']
      })
    ),
    count: Type.Integer({ description: 'Entries in this page.', examples: [1] })
  },
  { $id: 'AuditPage' }
)
export type Page = Static<typeof Page>

export const Query = closed({
  limit: Type.Optional(
    Type.Integer({ minimum: 1, maximum: 1000, code: 'invalid_limit', description: 'Default 100.' })
  ),
  outcome: Type.Optional(Outcome),
  actor: Type.Optional(
    Type.String({ maxLength: 32, description: 'Only what this user_id did, or was refused.' })
  ),
  action: Type.Optional(
    Type.String({
      maxLength: 64,
      description: 'Only this action, such as rule.create; rule.* is every action of rules.'
    })
  ),
  request_id: Type.Optional(
    Type.String({ maxLength: 64, description: 'Only what this request did: its x-request-id.' })
  ),
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
