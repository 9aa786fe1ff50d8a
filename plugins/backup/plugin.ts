import { definePlugin } from '../../kernel/plugin.ts'
import { backupFailed, copyDiffers, notMovable, targetNotEmpty } from './codes.ts'
import { commands } from './commands.ts'

export default definePlugin({
  name: 'backup',
  version: '1.0.0',
  kernel: '^2.0.0',
  needs: { certificate: '^1.0.0', cli: '^1.0.0', servers: '^1.0.0' },
  codes: [backupFailed, notMovable, targetNotEmpty, copyDiffers],
  commands
})
