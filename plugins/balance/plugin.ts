import { definePlugin } from '../../kernel/plugin.ts'
import { pushOptions } from '../rules/exports.ts'
import { explains } from './explain.ts'
import { fields, invalidBalance } from './fields.ts'
import { ruleFields } from './rule-fields.ts'

export default definePlugin({
  name: 'balance',
  version: '1.0.0',
  description: 'Spreads connections over the targets of a rule.',
  kernel: '^2.0.0',
  needs: { rules: '^1.0.0' },
  codes: [invalidBalance],
  fills: [...ruleFields, explains, pushOptions(...fields)]
})
