import { asFunction } from 'awilix'
import { definePlugin, type Kernel } from '../../kernel/plugin.ts'
import { commands } from './commands.ts'
import { applyInProgress, type Leases, openLeases } from './leases.ts'
import { routes } from './routes.ts'

interface Deps extends Kernel {
  readonly leases: Leases
}

export default definePlugin<Deps>({
  name: 'apply',
  version: '1.0.0',
  kernel: '^2.0.0',
  needs: { rules: '^1.0.0' },
  codes: [applyInProgress],
  services: { leases: asFunction(openLeases).singleton() },
  routes,
  commands
})
