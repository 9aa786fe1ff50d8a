// The rule field health_check_interval_secs.

import { Type } from '../../agent/wire/field-schema.ts'
import type { DeclaredField } from '../../agent/wire/rule-field.ts'
import { defineCode } from '../../kernel/base/errors.ts'

export const healthOnUdp = defineCode('validation.health_on_udp', 400, 3)

export const field = {
  key: 'health_check_interval_secs',
  capability: { id: 'rule.health-check', since: '2.0.0' },
  body: Type.Integer({
    minimum: 1,
    maximum: 3600,
    description: 'Seconds between connection attempts to each target.',
    examples: [30]
  }),
  option: 'health_interval'
} satisfies DeclaredField
