import { definePlugin } from 'sluice/plugin'
import { commands } from './commands.ts'
import { missing, notAPrefix, sourceAcl } from './rule-field.ts'

export default definePlugin({
  name: 'source-acl',
  version: '1.0.0',
  kernel: '^2.0.0',
  needs: { rules: '^1.0.0' },
  codes: [notAPrefix, missing],
  fills: [sourceAcl],
  commands
})
