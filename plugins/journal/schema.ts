import { type Static, Type } from 'typebox'
import { closed, orNull, timeOf } from '../../kernel/http/schema.ts'
import { TimeText } from '../http/exports.ts'

export const Query = closed({
  since: Type.Optional(TimeText('The oldest time.')),
  until: Type.Optional(TimeText('The newest time, inclusive.')),
  kind: Type.Optional(
    Type.String({
      maxLength: 16,
      description: 'Only entries of this kind; see `kind` of an entry.',
      examples: ['failover']
    })
  )
})
export type Query = Static<typeof Query>

export const EntryRow = closed(
  {
    ts: timeOf('When it happened.'),
    kind: Type.String({
      description: 'state, failover, target, limit, quota, edge, change, or a kind of a plugin.',
      examples: ['failover']
    }),
    from: Type.Unknown({
      description: 'Earlier value; null: none. A long value is cut to the beginning of its JSON.',
      examples: ['10.0.0.7:443']
    }),
    to: Type.Unknown({ description: 'New value; null: none.', examples: ['10.0.0.8:443'] }),
    cause: orNull(Type.String({ description: 'Code of the cause.', examples: ['refused'] }), {
      description: 'null: the event has no recorded cause.'
    }),
    rule_name: orNull(Type.String({ description: 'Name of the rule; null: it has none.' }), {
      examples: ['web']
    }),
    request_id: orNull(Type.String({ description: 'x-request-id of the request that caused it.' }), {
      examples: [null]
    }),
    details: Type.Record(Type.String(), Type.Unknown(), {
      description: 'Further values of the kind, such as `target`, `field` or `actor`.',
      examples: [{ target: '10.0.0.7:443' }]
    })
  },
  { $id: 'JournalEntry' }
)
export type EntryRow = Static<typeof EntryRow>
