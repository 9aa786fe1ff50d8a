// The rule field health_check_interval_secs.
import { defineCode } from '../../kernel/base/errors.ts'
import { Type } from '../../platform/field-schema.ts'
import type { DeclaredField } from '../../platform/rule-field.ts'

export const healthOnUdp = defineCode('validation.health_on_udp', 400, 3)

/** The interval at which the agent connects to each target. */
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
