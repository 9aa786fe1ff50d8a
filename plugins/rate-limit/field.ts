import { defineCode } from '../../kernel/base/errors.ts'
import { ruleField } from '../rules/exports.ts'
import { RuleLimit } from './entities.ts'
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
  async check() {},
  async save(rule, limits, em) {
    await em.upsert(RuleLimit, { rule, limits })
  },
  async clear(rule, em) {
    await em.nativeDelete(RuleLimit, { rule })
  },
  async load(ids, em) {
    const rows = await em.find(RuleLimit, { rule: { $in: [...ids] } })
    return new Map(rows.map(({ rule, limits }) => [rule, limits]))
  },
  encode: encodeLimits
})
