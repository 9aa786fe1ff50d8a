// A plugin that adds the property `color` to targets, which tells targets apart.
import { Type } from 'typebox'
import { targetFieldMessage } from '../../../agent/wire/target-field.ts'
import { defineCode, Fault } from '../../../kernel/base/errors.ts'
import { definePlugin } from '../../../kernel/plugin.ts'
import { targetField } from '../exports.ts'

const noColor = defineCode('validation.no_color', 400, 3)

export const color = {
  key: 'color',
  capability: { id: 'rule.color', since: '1.0.0' },
  body: Type.String({ maxLength: 16, pattern: '^[a-zA-Z]+$', description: 'A color.' })
}

export const colorMessage = targetFieldMessage(color)

export const colors = definePlugin({
  name: 'colors',
  version: '1.0.0',
  kernel: '^2.0.0',
  needs: { rules: '^1.0.0' },
  codes: [noColor],
  fills: [
    targetField({
      ...color,
      distinguishes: true,
      parse(value, { field, rule: { protocol } }) {
        const details = { field, reason: 'color' }
        if (value === 'none' || protocol === 'udp')
          throw new Fault(noColor, `${field} is no color; name one, or leave it out`, { details })
        return value === 'plain' ? undefined : value.toLowerCase()
      }
    })
  ]
})
