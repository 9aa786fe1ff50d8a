import { asFunction } from 'awilix'
import { definePlugin, type Kernel } from '../../kernel/plugin.ts'
import { documentSchemaSlot } from '../http/exports.ts'
import { fills as commandFills, commands } from './commands.ts'
import { Lease } from './entities.ts'
import { applyInProgress, type Leases, openLeases } from './leases.ts'
import { Apply0001 } from './migrations/0001-apply.ts'
import { routes } from './routes.ts'

interface Deps extends Kernel {
  readonly leases: Leases
}

export default definePlugin<Deps>({
  name: 'apply',
  version: '1.0.0',
  description: 'Applies a document of rules, grants and other objects, one run at a time.',
  kernel: '^2.0.0',
  needs: { cli: '^1.0.0', http: '^1.0.0', users: '^1.0.0', clients: '^1.0.0', rules: '^1.0.0' },
  codes: [applyInProgress],
  store: { entities: [Lease], migrations: [{ name: '0001-apply', class: Apply0001 }] },
  services: { leases: asFunction(openLeases).singleton() },
  slots: [documentSchemaSlot],
  fills: commandFills,
  routes,
  commands
})
