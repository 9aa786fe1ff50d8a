import { asFunction } from 'awilix'
import { definePlugin } from '../../kernel/plugin.ts'
import { listOptionSlots } from '../http/exports.ts'
import { connectionPathsSlot } from '../rules/exports.ts'
import { commands } from './commands.ts'
import { type Connections, openConnections, type Services } from './connections.ts'
import { routes } from './routes.ts'
import { connectionNotFound, filterRequired } from './schema.ts'
import { messages } from './wire.ts'

interface Deps extends Services {
  readonly connections: Connections
}

export default definePlugin<Deps>({
  name: 'connections',
  version: '1.0.0',
  description: 'Lists and closes open connections and flows.',
  kernel: '^2.0.0',
  needs: { cli: '^1.0.0', http: '^1.0.0', rules: '^1.0.0' },
  codes: [connectionNotFound, filterRequired],
  services: { connections: asFunction(openConnections).singleton() },
  slots: [connectionPathsSlot, listOptionSlots.connection],
  messages,
  routes,
  commands
})
