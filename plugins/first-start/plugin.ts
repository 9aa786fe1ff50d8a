import { definePlugin } from '../../kernel/plugin.ts'
import { commands } from './commands.ts'

export default definePlugin({
  name: 'first-start',
  version: '1.0.0',
  kernel: '^2.0.0',
  needs: { certificate: '^1.0.0', cli: '^1.0.0', http: '^1.0.0' },
  commands
})
