import { defineCode } from '../../kernel/base/errors.ts'
import { ruleField } from '../rules/exports.ts'
import { burstWithoutRate, encodeLimits, parseLimits, RateLimit } from './limits.ts'
import { unsupported } from './requirement.ts'
import { capability, key, Limits } from './wire.ts'

export const limitMissing = defineCode('validation.rate_limit_missing', 400, 3)

/** The limits of one rule. */
export const field = ruleField({
  key,
  change: 'hot',
  journalKind: 'limit',
  body: RateLimit,
  requires: { capability, refusal: unsupported },
  updateEmpty: limitMissing,
  message: Limits,
  errors: [burstWithoutRate],
  parse: given => parseLimits(given, `/${key}`),
  encode: encodeLimits
})
