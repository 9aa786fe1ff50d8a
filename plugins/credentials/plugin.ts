import { asFunction } from 'awilix'
import { definePlugin } from '../../kernel/plugin.ts'
import { removalSlot, rowFieldSlot } from '../users/exports.ts'
import { commands } from './commands.ts'
import { credentialNotFound, openCredentials } from './credentials.ts'
import { type RouteDeps, routes } from './routes.ts'
import { credentialCount, removal } from './user-fields.ts'

export default definePlugin<RouteDeps>({
  name: 'credentials',
  version: '1.0.0',
  description: 'Bearer tokens of users.',
  kernel: '^2.0.0',
  needs: { http: '^1.0.0', users: '^1.0.0' },
  codes: [credentialNotFound],
  services: { credentials: asFunction(openCredentials).singleton() },
  fills: [rowFieldSlot.fillWith((deps: RouteDeps) => credentialCount(deps)), removalSlot.fill(removal)],
  routes,
  commands
})
