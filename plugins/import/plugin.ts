import { definePlugin } from '../../kernel/plugin.ts'
import { importIncomplete, importInvalid } from './codes.ts'
import { commands } from './commands.ts'

export default definePlugin({
  name: 'import',
  version: '1.0.0',
  description: 'Converts configurations of other forwarders into a document of apply.',
  kernel: '^2.0.0',
  codes: [importInvalid, importIncomplete],
  commands
})
