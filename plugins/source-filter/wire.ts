// Shared by both halves: the keys, the capability and the messages of the fields.
import { Type } from 'typebox'
import { Bytes, type Capability, defineMessage } from '../../kernel/wire/message.ts'

const proto = new URL('./source-filter.proto', import.meta.url)

export const keys = { allow: 'allow_sources', deny: 'deny_sources', lists: 'source_lists' } as const
export const capability: Capability = { id: 'rule.source-filter', since: '2.1.0' }

/** The reason under which statistics count callers that a rule denies. */
export const refusal = 'source_denied'

export const maxEntries = 256 // of a field of a rule
export const maxListEntries = 40_000
export const maxPackedBytes = 200_000 // of all lists of a rule: a frame holds 256 KiB

export const Prefixes = defineMessage({
  name: 'sluice.source_filter.Prefixes',
  proto,
  body: Type.Object({ prefixes: Type.Array(Type.String({ maxLength: 64 }), { maxItems: maxEntries }) })
})

export const Lists = defineMessage({
  name: 'sluice.source_filter.Lists',
  proto,
  body: Type.Object({ allow: Bytes, deny: Bytes })
})

export const messages = [Prefixes, Lists]
