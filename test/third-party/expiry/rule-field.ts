// The server half of the field, which can change while the rule runs. A separate table serves to find expired rules.
import { defineCode, Fault, rules, timestamp } from 'sluice/plugin'
import { Expiry } from './entities.ts'
import { field } from './field.ts'

export const inPast = defineCode('validation.ends_in_past', 400, 3)
export const missing = defineCode('validation.ends_missing', 400, 3)

export const endsAt = rules.ruleField({
  ...field,
  change: 'hot',
  updateEmpty: missing,
  parse: text => timestamp(Date.parse(text)),
  async check(text, _rule, _em, { deps: { clock } }) {
    if (Date.parse(text) > clock.now()) return
    const details = { field: `/${field.key}`, reason: 'past' }
    throw new Fault(inPast, `/${field.key} ${text} is in the past; give a later time, or remove the rule`, {
      details
    })
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
