import { definePlugin } from '../../kernel/plugin.ts'
import { commands } from './commands.ts'
import { errorExplanationSlot } from './error-explanation.ts'
import { serverLifeSlot } from './server/server-life.ts'
import { outputFailed } from './terminal/standard-output.ts'

export default definePlugin({
  name: 'cli',
  version: '1.0.0',
  kernel: '^2.0.0',
  needs: { http: '^1.0.0' },
  codes: [outputFailed],
  slots: [errorExplanationSlot, serverLifeSlot],
  commands
})
