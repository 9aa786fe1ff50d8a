// The rule fields allow_sources and deny_sources.

import { Type } from '../../agent/wire/field-schema.ts'
import type { DeclaredField } from '../../agent/wire/rule-field.ts'
import { defineCode } from '../../kernel/base/errors.ts'

export const invalidSources = defineCode('validation.sources', 400, 3)

export const capability = { id: 'rule.source-filter', since: '2.1.0' }

const maxItems = 256
const prefixes = Type.Object({ prefixes: Type.Array(Type.String({ maxLength: 64 }), { maxItems }) })

const sources = (description: string, example: readonly string[]) =>
  Type.Array(Type.String({ maxLength: 64 }), {
    maxItems,
    code: invalidSources.code,
    description: `${description} Addresses, prefixes, and lists such as @office, at most ${maxItems}.`,
    examples: [example]
  })

/** Agents receive addresses and prefixes in this field, and the entries of lists in a derived field. */
export const allowSources = {
  key: 'allow_sources',
  capability,
  body: sources('Only these sources may use the rule.', ['192.0.2.0/24', '2001:db8::/32']),
  sent: prefixes
} satisfies DeclaredField

export const denySources = {
  key: 'deny_sources',
  capability,
  body: sources('These sources must not use the rule, even if they are in allow_sources.', ['198.51.100.7']),
  sent: prefixes
} satisfies DeclaredField

export const fields: readonly DeclaredField[] = [allowSources, denySources]
