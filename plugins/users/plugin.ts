import { asFunction } from 'awilix'
import { definePlugin, type Kernel } from '../../kernel/plugin.ts'
import { commands } from './commands.ts'
import { creatingSlot, disablingSlot, removingSlot, rowSlot } from './exports.ts'
import { openRoster, type Roster, codes as rosterCodes } from './roster.ts'
import { routes } from './routes.ts'
import { codes, openUsers, type Users } from './users.ts'

interface Deps extends Kernel {
  readonly users: Users
  readonly roster: Roster
}

export default definePlugin<Deps>({
  name: 'users',
  version: '1.0.0',
  kernel: '^1.0.0',
  codes: [...codes, ...rosterCodes],
  services: { roster: asFunction(openRoster).singleton() },
  exports: { users: asFunction(openUsers).singleton() },
  slots: [rowSlot, creatingSlot, disablingSlot, removingSlot],
  routes,
  commands
})
