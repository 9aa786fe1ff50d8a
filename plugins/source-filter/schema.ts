import { type Static, Type } from 'typebox'
import { closed, timeOf } from '../../kernel/http/schema.ts'
import { invalidSources } from './fields.ts'
import { maxListEntries } from './wire.ts'

const Name = Type.String({
  maxLength: 63,
  description: 'The name of the list; rules use it as @name.',
  examples: ['office']
})

const Entries = Type.Array(Type.String({ maxLength: 64 }), {
  maxItems: maxListEntries,
  code: invalidSources.code,
  description: 'Addresses and prefixes: 192.0.2.7, 192.0.2.0/24, 2001:db8::/32.',
  examples: [['192.0.2.0/24', '2001:db8::/32']]
})

const row = {
  name: Name,
  entry_count: Type.Integer({ minimum: 0, description: 'Number of distinct entries.', examples: [2] }),
  rule_count: Type.Integer({ minimum: 0, description: 'Number of rules that name the list.', examples: [1] }),
  updated_at: timeOf('Time of the last change.')
}

export const ListRow = closed(row, { $id: 'SourceListRow' })
export type ListRow = Static<typeof ListRow>

export const ListRecord = closed({ ...row, entries: Entries }, { $id: 'SourceList' })
export type ListRecord = Static<typeof ListRecord>

/** Other fields of the record are ignored, so that callers can send it back. */
export const ListBody = closed({ ...Type.Partial(ListRecord).properties, entries: Entries })
export type ListBody = Static<typeof ListBody>

export const ListParams = closed({ list_name: Name })
