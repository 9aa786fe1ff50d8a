// The derived field source_lists: the entries of the lists that a rule names.
import { Type } from 'typebox'
import { Bytes, defineMessage } from '../../kernel/wire/message.ts'

const proto = new URL('./source-filter.proto', import.meta.url)

export const listsKey = 'source_lists' // of the derived field

/** Statistics count denied callers under this reason. */
export const refusal = 'source_denied'

export const maxListEntries = 40_000
export const maxPackedBytes = 200_000 // of all lists of a rule: a frame holds 256 KiB

export const Lists = defineMessage({
  name: 'sluice.source_filter.Lists',
  proto,
  body: Type.Object({ allow: Bytes, deny: Bytes })
})

export const messages = [Lists]
