import { type Static, Type } from 'typebox'
import { closed, orNull, timeOf } from '../../kernel/http/schema.ts'
import { TimeText } from '../http/exports.ts'

export const Query = closed({
  since: Type.Optional(TimeText('The oldest time.')),
  until: Type.Optional(TimeText('The newest time, inclusive.')),
  kind: Type.Optional(
    Type.String({ maxLength: 16, description: 'Only entries of this kind.', examples: ['failover'] })
  )
})
export type Query = Static<typeof Query>

export const EntryRow = closed(
  {
    ts: timeOf('When it happened.'),
    kind: Type.String({
      description: 'state, failover, target, limit, quota, edge, change, or that of a plugin.',
      examples: ['failover']
    }),
    from: Type.Unknown({
      description: 'What it was; null: nothing. Of a long value the beginning of its JSON.',
      examples: ['10.0.0.7:443']
    }),
    to: Type.Unknown({ description: 'What it is; null: nothing.', examples: ['10.0.0.8:443'] }),
    cause: orNull(Type.String({ description: 'Why: a code.', examples: ['refused'] }), {
      description: 'null: it has no cause of its own.'
    }),
    request_id: orNull(Type.String({ description: 'x-request-id of the request that led to it.' }), {
      examples: [null]
    }),
    details: Type.Record(Type.String(), Type.Unknown(), {
      description: 'What the kind adds, such as `target`, `field` or `actor`.',
      examples: [{ target: '10.0.0.7:443' }]
    })
  },
  { $id: 'JournalEntry' }
)
export type EntryRow = Static<typeof EntryRow>
