import { definePlugin } from '../../kernel/plugin.ts'
import { commands } from './commands.ts'
import { MirrorRow, RequestRow, ResultRow, ServerRow, SessionRow, TaskRow } from './entities.ts'
import { Servers0001 } from './migrations/0001-servers.ts'
import { routes } from './routes.ts'
import { liveServers } from './server-registry.ts'
import { keys } from './settings.ts'

/** The service is a part of `control`, which opens before the plugins are wired. See exports.ts. */
export default definePlugin({
  name: 'servers',
  version: '1.0.0',
  description: 'The servers that share a store.',
  kernel: '^2.0.0',
  needs: { http: '^1.0.0' },
  keys,
  store: {
    entities: [ServerRow, TaskRow, SessionRow, RequestRow, ResultRow, MirrorRow],
    migrations: [{ name: '0001-servers', class: Servers0001 }],
    servers: { since: '0001-servers', query: liveServers }
  },
  routes,
  commands
})
