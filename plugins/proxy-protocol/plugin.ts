import { definePlugin } from '../../kernel/plugin.ts'
import { pushOptions } from '../rules/exports.ts'
import { fields, invalidIn, invalidOut } from './fields.ts'
import { ruleFields } from './rule-fields.ts'

export default definePlugin({
  name: 'proxy-protocol',
  version: '1.0.0',
  description:
    "The PROXY protocol: accepts the caller's address from proxies in front, and passes it to targets.",
  kernel: '^2.0.0',
  needs: { rules: '^1.0.0' },
  codes: [invalidOut, invalidIn],
  fills: [...ruleFields, pushOptions(...fields)]
})
