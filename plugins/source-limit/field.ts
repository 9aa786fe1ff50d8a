// The rule field `source_limit`.

import { Type } from '../../agent/wire/field-schema.ts'
import type { DeclaredField } from '../../agent/wire/rule-field.ts'
import { defineCode } from '../../kernel/base/errors.ts'

/** Statistics count callers beyond the limit under this reason. */
export const refusal = 'source_limit'

export const defaultWithinSecs = 10

export const invalidLimit = defineCode('validation.source_limit', 400, 3)

const optional = (maximum: number, description: string) =>
  Type.Optional(Type.Union([Type.Integer({ minimum: 1, maximum }), Type.Null()], { description }))

const body = Type.Object(
  {
    connections: optional(1_000_000, 'Connections and flows that one source may have open at once.'),
    new_connections: optional(1_000_000, 'Connections and flows that one source may begin in within_secs.'),
    within_secs: optional(86_400, `Seconds for new_connections; default ${defaultWithinSecs}.`)
  },
  {
    code: invalidLimit.code,
    description:
      'Limits for each source: an IPv4 address or the /64 of an IPv6 address. With proxy_in it is the address in the header.',
    examples: [{ connections: 20, new_connections: 100, within_secs: 10 }]
  }
)

export const field = {
  key: 'source_limit',
  capability: { id: 'rule.source-limit', since: '2.1.0' },
  body,
  option: 'source'
} satisfies DeclaredField
