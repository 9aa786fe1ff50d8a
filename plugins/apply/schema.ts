// The API schemas of a document. Plugins define the schemas of its entries.
import { type Static, Type } from 'typebox'
import { closed } from '../../kernel/http/schema.ts'
import type { SlotReader } from '../../kernel/slot.ts'
import { documentSchemaSlot } from '../http/exports.ts'

/** Returns the schema of a document or a part of one. */
export const documentBody = (filled: SlotReader) =>
  closed(
    Object.fromEntries(
      filled(documentSchemaSlot).map(({ value }) => [
        value.name,
        Type.Optional(Type.Array(value.entry(), { description: `Entries of [[${value.name}]].` }))
      ])
    ),
    { $id: 'Document', examples: [{}] }
  )

export const KindRow = closed(
  {
    name: Type.String({ description: 'Name of the list in the document.', examples: ['rules'] }),
    defaults: Type.Record(Type.String(), Type.Unknown(), {
      description: 'Values that records show for properties that an entry omits.',
      examples: [{ paused: false }]
    }),
    distinguishing: Type.Array(Type.String(), {
      description: 'Properties of plugins that distinguish otherwise equal objects.',
      examples: [['sni_pattern']]
    })
  },
  { $id: 'DocumentKind' }
)
export type KindRow = Static<typeof KindRow>

export const kindRows = (filled: SlotReader): KindRow[] =>
  filled(documentSchemaSlot).map(({ value }) => ({
    name: value.name,
    defaults: { ...value.defaults?.() },
    distinguishing: [...(value.distinguishing?.() ?? [])]
  }))
