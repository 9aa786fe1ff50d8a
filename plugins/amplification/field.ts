// The rule field `amplification`.

import { Type } from '../../agent/wire/field-schema.ts'
import type { DeclaredField } from '../../agent/wire/rule-field.ts'
import { defineCode } from '../../kernel/base/errors.ts'

/** Statistics count dropped replies under this reason. */
export const refusal = 'amplification'

export const invalidCap = defineCode('validation.amplification', 400, 3)

const body = Type.Object(
  {
    ratio: Type.Integer({
      minimum: 1,
      maximum: 1_000,
      description: 'Maximum bytes of replies for each byte from the caller of a flow.'
    }),
    proven_after: Type.Integer({
      minimum: 0,
      maximum: 1_000,
      default: 8,
      description: 'The cap ends after this many datagrams of the caller that each follow a reply; 0: never.'
    })
  },
  {
    code: invalidCap.code,
    description: 'For UDP rules: caps replies until the caller has proven that it receives them.',
    examples: [{ ratio: 3, proven_after: 8 }]
  }
)

export const field = {
  key: 'amplification',
  capability: { id: 'rule.amplification', since: '2.1.0' },
  body,
  option: 'reply'
} satisfies DeclaredField
