import { type Static, Type } from 'typebox'
import { defineCode } from '../../kernel/base/errors.ts'
import { closed, orNull, timeOf } from '../../kernel/http/schema.ts'
import { roleSchema, TimeText, UserFilter } from '../http/exports.ts'
import { parseCursor } from './cursor.ts'

export const invalidOutcome = defineCode('invalid_outcome', 400, 3)

const Outcome = Type.Union([Type.Literal('allow'), Type.Literal('deny')], {
  code: invalidOutcome.code,
  description: 'Only entries with this outcome.'
})

export const EntryRow = closed(
  {
    id: Type.String({ description: 'ULID.', examples: ['01KCD3F0P7Q4Y6Z8V1T5S9R2NU'] }),
    timestamp: timeOf('When the request was decided.'),
    actor: orNull(Type.String({ description: 'user_id; null: not authenticated.', examples: ['ann'] })),
    role: orNull(roleSchema({ description: 'Role of the actor.' })),
    auth_method: Type.String({
      description:
        'operator_token, api_token, session, system (no request made the change), none, or the method of a plugin.',
      examples: ['api_token']
    }),
    remote_addr: orNull(
      Type.String({
        description: 'null: no request, or several addresses beyond the limit per minute.',
        examples: ['198.51.100.7']
      })
    ),
    method: Type.String({ description: 'HTTP method; empty without a request.', examples: ['POST'] }),
    path: Type.String({
      description: 'Path without the query, at most 512 characters; empty without a request.',
      examples: ['/v1/rules']
    }),
    action: Type.String({
      description: 'Id of the operation, such as rule.create.',
      examples: ['rule.create']
    }),
    resource_kind: orNull(Type.String({ description: 'Kind of the changed resource.', examples: ['rule'] })),
    resource_id: orNull(
      Type.String({ description: 'Id of the changed resource.', examples: ['01KCD3F0P7Q4Y6Z8V1T5S9R2NB'] })
    ),
    rule_name: orNull(
      Type.String({ description: 'Name that the changed rule had; null: it had none, or it is no rule.' }),
      { examples: ['web'] }
    ),
    outcome: Type.Union([Type.Literal('allow'), Type.Literal('deny')], {
      description: 'deny: the caller was not allowed to do it.'
    }),
    status: orNull(
      Type.Integer({
        description: 'HTTP status; null: the change is made, and its response is pending or lost.',
        examples: [201]
      })
    ),
    reason: orNull(Type.String(), { description: 'Error code of the refusal.', examples: [null] }),
    changes: orNull(
      Type.Array(
        closed({
          field: Type.String({ description: 'Name of the field, as in requests.', examples: ['targets'] }),
          from: Type.Unknown({ description: 'Old value; a long value is cut to the beginning of its JSON.' }),
          to: Type.Unknown({ description: 'New value; null: none.' })
        })
      ),
      { description: 'The changed fields of an object; null: not recorded.', examples: [null] }
    ),
    request_id: Type.String({ description: 'x-request-id.', examples: ['01KCD3F0P7Q4Y6Z8V1T5S9R2NR'] }),
    count: Type.Integer({ description: 'Number of requests that this entry aggregates.', examples: [1] })
  },
  { $id: 'AuditEntry' }
)
export type EntryRow = Static<typeof EntryRow>

export const Page = closed(
  {
    entries: Type.Array(EntryRow, { description: 'Newest first.' }),
    next_cursor: Type.Optional(
      Type.String({
        description: 'Cursor of the next, older page; absent on the last page.',
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
  actor: Type.Optional(UserFilter('Only changes and refusals of this user_id.')),
  action: Type.Optional(
    Type.Refine(
      Type.String({
        maxLength: 64,
        description: 'Only this action, such as rule.create; rule.* matches every action on rules.'
      }),
      text => /^[a-z_-]+\.([a-z_-]+|\*)$/.test(text),
      text =>
        `must be an action such as rule.create, or rule.* for every action on rules, got ${JSON.stringify(text)}`
    )
  ),
  resource: Type.Optional(
    Type.String({
      minLength: 1,
      maxLength: 255,
      description: 'Only entries about the object with this id, or about rules that had this name.'
    })
  ),
  request_id: Type.Optional(
    Type.String({
      maxLength: 64,
      pattern: '^[A-Za-z0-9._-]+$',
      description: 'Only entries of the request with this x-request-id.'
    })
  ),
  since: Type.Optional(TimeText('The oldest time.')),
  until: Type.Optional(TimeText('The newest time, inclusive.')),
  cursor: Type.Optional(
    Type.Refine(
      Type.String({
        code: 'invalid_cursor',
        description: 'next_cursor of the previous page; empty: the newest entries.'
      }),
      text => text === '' || parseCursor(text) !== null,
      () => 'is not a cursor of this list; use next_cursor'
    )
  )
})
export type Query = Static<typeof Query>
