import { definePlugin } from '../../kernel/plugin.ts'
import { checkSlot } from '../cli/check-exports.ts'
import { commands, doctorFailed, fills } from './commands.ts'

export default definePlugin({
  name: 'doctor',
  version: '1.0.0',
  kernel: '^2.0.0',
  needs: {
    'advertised-endpoint': '^1.0.0',
    certificate: '^1.0.0',
    cli: '^1.0.0',
    clients: '^1.0.0',
    http: '^1.0.0',
    rules: '^1.0.0'
  },
  codes: [doctorFailed],
  slots: [checkSlot],
  fills,
  commands
})
