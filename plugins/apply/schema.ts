// The API schemas of a document. Plugins define the schemas of its entries.
import { type Static, type TSchema, Type } from 'typebox'
import { closed } from '../../kernel/http/schema.ts'
import type { SlotReader } from '../../kernel/slot.ts'
import { type DocumentSchema, documentSchemaSlot } from '../http/exports.ts'
import { type DeliveryOptions, type DocumentEntry, deliveryOptions } from '../rules/exports.ts'

type Entries = Readonly<Record<string, readonly DocumentEntry[]>>

const withKinds = (filled: SlotReader, entryOf: (kind: DocumentSchema) => TSchema) =>
  Object.fromEntries(
    filled(documentSchemaSlot).map(({ value }) => [
      value.name,
      Type.Optional(Type.Array(entryOf(value), { description: `Entries of [[${value.name}]].` }))
    ])
  )

/** Returns the schema of a document or a part of one. */
export const documentBody = (filled: SlotReader) =>
  Type.Unsafe<Entries & DeliveryOptions>(
    closed(
      { ...withKinds(filled, kind => kind.entry()), ...deliveryOptions },
      { $id: 'Document', examples: [{}] }
    )
  )

export const normalDocument = (filled: SlotReader) =>
  Type.Unsafe<Entries>(
    closed(
      withKinds(filled, () => Type.Record(Type.String(), Type.Unknown())),
      { $id: 'NormalDocument', examples: [{}] }
    )
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
    }),
    read_only: Type.Array(Type.String(), {
      description: 'Properties of parts of an object that only records show.',
      examples: [['targets.health']]
    })
  },
  { $id: 'DocumentKind' }
)
export type KindRow = Static<typeof KindRow>

export const kindRows = (filled: SlotReader): KindRow[] =>
  filled(documentSchemaSlot).map(({ value }) => ({
    name: value.name,
    defaults: { ...value.defaults?.() },
    distinguishing: [...(value.distinguishing?.() ?? [])],
    read_only: [...(value.readOnly?.() ?? [])]
  }))
