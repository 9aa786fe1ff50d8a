import { definePlugin } from '../../kernel/plugin.ts'
import { commands } from './commands.ts'
import { routes } from './routes.ts'

export default definePlugin({
  name: 'extensions',
  version: '1.0.0',
  description: 'Lists the plugins of the server.',
  kernel: '^2.0.0',
  needs: { cli: '^1.0.0', http: '^1.0.0' },
  routes,
  commands
})
