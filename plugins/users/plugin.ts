import { asFunction } from 'awilix'
import { definePlugin } from '../../kernel/plugin.ts'
import { listFilterSlots, listOptionSlots, recordFieldSlots, recordOptionSlots } from '../http/exports.ts'
import * as codes from './codes.ts'
import { commands } from './commands.ts'
import { openUserDirectory } from './directory.ts'
import { creationSlot, disableSlot, removalSlot, roleSlot, rowFieldSlot, type Users } from './exports.ts'
import { type RouteDeps, routes } from './routes.ts'
import { openUsers } from './users.ts'

interface Deps extends RouteDeps {
  readonly users: Users
}

export default definePlugin<Deps>({
  name: 'users',
  version: '1.0.0',
  description: 'Who may sign in and call the API.',
  kernel: '^2.0.0',
  needs: { http: '^1.0.0' },
  codes: Object.values(codes),
  services: { directory: asFunction(openUserDirectory).singleton() },
  exports: { users: asFunction(openUsers).singleton() },
  slots: [
    ...[rowFieldSlot, creationSlot, disableSlot, roleSlot, removalSlot],
    ...[recordFieldSlots.user, listFilterSlots.user, recordOptionSlots.user, listOptionSlots.user]
  ],
  routes,
  commands
})
