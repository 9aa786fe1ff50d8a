import { asFunction } from 'awilix'
import { definePlugin, type Kernel } from '../../kernel/plugin.ts'
import { routes } from './routes.ts'
import { codes, openUsers, type Users } from './users.ts'

interface Deps extends Kernel {
  readonly users: Users
}

export default definePlugin<Deps>({
  name: 'users',
  version: '1.0.0',
  kernel: '^1.0.0',
  codes,
  exports: { users: asFunction(openUsers).singleton() },
  routes
})
