import { asFunction } from 'awilix'
import { definePlugin, type Kernel } from '../../kernel/plugin.ts'
import * as codes from './codes.ts'
import { commands } from './commands.ts'
import { openUserDirectory, type UserDirectory } from './directory.ts'
import { creationSlot, disableSlot, removalSlot, rowFieldSlot, type Users } from './exports.ts'
import { routes } from './routes.ts'
import { openUsers } from './users.ts'

interface Deps extends Kernel {
  readonly users: Users
  readonly directory: UserDirectory
}

export default definePlugin<Deps>({
  name: 'users',
  version: '1.0.0',
  kernel: '^1.0.0',
  codes: Object.values(codes),
  services: { directory: asFunction(openUserDirectory).singleton() },
  exports: { users: asFunction(openUsers).singleton() },
  slots: [rowFieldSlot, creationSlot, disableSlot, removalSlot],
  routes,
  commands
})
