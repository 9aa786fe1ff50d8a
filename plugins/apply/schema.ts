// The API's schemas of documents; plugins define the schemas of their entries.
import { type Static, Type } from 'typebox'
import { closed } from '../../kernel/http/schema.ts'
import type { SlotReader } from '../../kernel/slot.ts'
import { documentSchemaSlot } from '../http/exports.ts'

/** A document, or a part of one. */
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
    name: Type.String({ description: 'Of the list in the document.', examples: ['rules'] }),
    defaults: Type.Record(Type.String(), Type.Unknown(), {
      description: 'What records show of properties that an entry leaves out.',
      examples: [{ paused: false }]
    }),
    distinguishing: Type.Array(Type.String(), {
      description: 'Properties of plugins that tell objects apart which are equal else.',
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
