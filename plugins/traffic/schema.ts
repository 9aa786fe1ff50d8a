import { type Static, Type } from 'typebox'
import { closed } from '../../kernel/http/schema.ts'
import { IdFilter, UserFilter } from '../http/exports.ts'
import { invalidBucket } from './window.ts'

export const RuleId = Type.String({
  description: 'ULID of a rule, also of one that was deleted in the last 7 days.',
  examples: ['01KCD3F0P7Q4Y6Z8V1T5S9R2NB']
})

const Count = (description: string, example: number) =>
  Type.Integer({ minimum: 0, description, examples: [example] })

const window = {
  from: Count('First second, Unix time.', 1_767_225_600),
  to: Count('First second after the window, Unix time.', 1_767_229_200)
}
const span = {
  ...window,
  bucket: Type.Optional(
    Type.Union([Type.Literal('1m'), Type.Literal('1h')], {
      code: invalidBucket.code,
      description: 'Default: 1m for at most 24 h that begin within the last 7 days, else 1h.'
    })
  )
}

export const UserQuery = closed({
  ...span,
  client_id: Type.Optional(IdFilter('Only on this client.'))
})
export const ClientQuery = closed({
  ...span,
  user_id: Type.Optional(UserFilter('Only of this user.'))
})
export const GlobalQuery = closed(span)
export const RuleQuery = closed(span)

const by = [Type.Literal('rule'), Type.Literal('client'), Type.Literal('owner'), Type.Literal('target')]

export const TopQuery = closed({
  ...window,
  by: Type.Optional(Type.Union(by, { description: 'What to rank; default: rule.', examples: ['rule'] })),
  limit: Type.Optional(
    Type.Integer({
      minimum: 1,
      maximum: 100,
      code: 'invalid_limit',
      description: 'Number of rows, 1 to 100; default: 10.'
    })
  )
})

const sums = {
  bytes_in: Count('Delivered to targets.', 1_200),
  bytes_out: Count('Delivered to callers.', 56_000),
  connections: Count('Connections and flows that were opened.', 12),
  refused: Count('Connections, flows and datagrams that were refused or dropped.', 0)
}

export const TopRow = closed(
  {
    key: Type.String({
      description: 'The id of the rule, client or owner, or host and port of the target.',
      examples: ['10.0.0.5:80']
    }),
    name: Type.Union([Type.String(), Type.Null()], {
      description:
        'The name of the rule, or its client and port; the name of the client or user; null for targets and for what was deleted.',
      examples: ['paris:8080']
    }),
    ...sums
  },
  { $id: 'TrafficTopRow' }
)
export type TopRow = Static<typeof TopRow>

export const Traffic = closed(
  {
    bucket: Type.Union([Type.Literal('1m'), Type.Literal('1h')], {
      description: 'Length of a sample: a minute or an hour.'
    }),
    samples: Type.Array(
      closed({
        ts: Type.Integer({
          description: 'Start of the minute or hour of delivery, Unix seconds.',
          examples: [1_767_225_600]
        }),
        ...sums,
        datagrams_in: Count('Delivered to targets; 0 for TCP.', 0),
        datagrams_out: Count('Delivered to callers; 0 for TCP.', 0)
      }),
      { description: 'Minutes or hours without traffic are omitted.' }
    ),
    total_bytes_in: Count('Sum over all samples.', 1_200),
    total_bytes_out: Count('Sum over all samples.', 56_000)
  },
  { $id: 'Traffic' }
)
export type Traffic = Static<typeof Traffic>
