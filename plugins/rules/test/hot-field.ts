// A hot field that keeps its values in memory.
import { Type } from 'typebox'
import { defineCode, Fault } from '../../../kernel/base/errors.ts'
import { definePlugin } from '../../../kernel/plugin.ts'
import { Idle } from '../../../test/third-party/note/wire.ts'
import { CommittedMap } from '../../http/exports.ts'
import { fieldUnsupported, ruleField } from '../exports.ts'
import { messages } from '../wire.ts'

const paceMissing = defineCode('validation.pace_missing', 400, 3)
const paceRange = defineCode('validation.pace_range', 400, 3)

const capability = { id: 'rule.pace', since: '0.11.0' }
export const capableAgent = {
  capabilities: { [capability.id]: capability.since },
  messages: [...messages, Idle]
}

/** Returns a plugin with the hot field `pace`. 0 counts as empty, like a rate limit without limits. */
export function paceField() {
  const values = new CommittedMap<string, number>() // 0: none
  const field = ruleField({
    key: 'pace',
    change: 'hot',
    updateEmpty: paceMissing,
    body: Type.Integer(),
    requires: { capability, refusal: fieldUnsupported },
    message: Idle,
    parse(value) {
      if (value < 0) throw new Fault(paceRange, '/pace is below 0')
      return value === 0 ? null : value
    },
    async check() {},
    async save(id, value, em) {
      values.setBy(em, id, value)
    },
    async clear(id, em) {
      values.setBy(em, id, 0)
    },
    async load(ids, em) {
      return new Map(
        ids.map(id => [id, values.seenBy(em, id) ?? 0] as const).filter(([, value]) => value !== 0)
      )
    },
    encode: secs => ({ secs })
  })
  const plugin = definePlugin({
    name: 'pace',
    version: '1.0.0',
    kernel: '^2.0.0',
    needs: { rules: '^1.0.0' },
    codes: [paceMissing, paceRange],
    fills: [field],
    messages: [Idle]
  })
  return { plugin }
}
