import { Type } from 'typebox'
import { defineCode, Fault } from '../../../kernel/base/errors.ts'
import { fieldUnsupported, ruleField } from '../../../plugins/rules/exports.ts'
import { NoteIdle } from './entities.ts'
import { capability, Idle, key } from './wire.ts'

export const notTcp = defineCode('validation.note_idle_on_udp', 400, 3)

export const field = ruleField({
  key,
  change: 'frozen',
  body: Type.Integer({ minimum: 1, maximum: 86_400, description: 'Idle time of this rule, in seconds.' }),
  requires: { capability, refusal: fieldUnsupported },
  message: Idle,
  parse(secs, { protocol }) {
    if (protocol === 'tcp') return secs
    throw new Fault(notTcp, `/${key} is for TCP rules`, { details: { field: `/${key}`, reason: 'protocol' } })
  },
  async save(rule, secs, em) {
    await em.upsert(NoteIdle, { rule, secs })
  },
  async clear(rule, em) {
    await em.nativeDelete(NoteIdle, { rule })
  },
  async load(ids, em) {
    const rows = await em.find(NoteIdle, { rule: { $in: [...ids] } })
    return new Map(rows.map(({ rule, secs }) => [rule, secs]))
  },
  encode: secs => ({ secs })
})
