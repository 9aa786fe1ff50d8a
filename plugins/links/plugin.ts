import { definePlugin } from '../../kernel/plugin.ts'
import { fills as commandFills, commands } from './commands.ts'
import { type PathDeps, pathCodes, pathFills } from './paths/path-registration.ts'
import { codes, fills, handlers, type LinkDeps, services, slots, startLinks, store } from './registration.ts'
import { routes } from './routes.ts'
import { keys } from './settings.ts'
import { messages } from './wire.ts'

export default definePlugin<LinkDeps & PathDeps>({
  name: 'links',
  version: '1.0.0',
  description: 'Encrypted links between agents, over which rules reach targets of other clients.',
  kernel: '^2.0.0',
  needs: { http: '^1.0.0', clients: '^1.0.0', cli: '^1.0.0', rules: '^1.0.0' },
  keys,
  codes: [...codes, ...pathCodes],
  store,
  services,
  slots,
  fills: [...pathFills, ...fills, ...commandFills],
  messages,
  handlers,
  routes,
  commands,
  start: startLinks
})
