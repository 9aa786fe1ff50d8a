// The rule field `ends_at`, which may change while the rule runs.
import { defineCode, Fault, rules, Type, timestamp } from 'sluice/plugin'
import { Expiry } from './entities.ts'
import { capability, Expires, key } from './wire.ts'

export const inPast = defineCode('validation.ends_in_past', 400, 3)
export const missing = defineCode('validation.ends_missing', 400, 3)

export const field = rules.ruleField({
  key,
  change: 'hot',
  updateEmpty: missing,
  body: Type.String({
    format: 'date-time',
    maxLength: 64,
    description: 'When the rule ends (RFC 3339).',
    examples: ['2099-01-01T00:00:00Z']
  }),
  requires: { capability, refusal: rules.fieldUnsupported },
  message: Expires,
  parse: text => timestamp(Date.parse(text)),
  async check(text, _rule, _em, { deps: { clock } }) {
    if (Date.parse(text) > clock.now()) return
    const details = { field: `/${key}`, reason: 'past' }
    throw new Fault(inPast, `/${key} ${text} is past; give a later time, or remove the rule`, { details })
  },
  async save(rule, text, em) {
    await em.upsert(Expiry, { rule, at: Date.parse(text) })
  },
  async clear(rule, em) {
    await em.nativeDelete(Expiry, { rule })
  },
  async load(ids, em) {
    const rows = await em.find(Expiry, { rule: { $in: [...ids] } })
    return new Map(rows.map(({ rule, at }) => [rule, timestamp(at)]))
  },
  encode: text => ({ at_ms: Date.parse(text) })
})
