import { asFunction } from 'awilix'
import { definePlugin, type Kernel } from '../../kernel/plugin.ts'
import { listFilterSlots, listOptionSlots, recordFieldSlots, recordOptionSlots } from '../http/exports.ts'
import * as codes from './codes.ts'
import { commands } from './commands.ts'
import { documentSchema } from './document-schema.ts'
import { RoleSource } from './entities.ts'
import {
  creationSlot,
  disableSlot,
  type RoleSources,
  removalSlot,
  roleSlot,
  roleSourceSlot,
  rowFieldSlot,
  type Users
} from './exports.ts'
import { RoleSource0001 } from './migrations/0001-role-source.ts'
import { endedSources, openRoleSources } from './role-sources.ts'
import { type RouteDeps, routes } from './routes.ts'
import { openUserDirectory } from './user-directory.ts'
import { openUsers } from './users.ts'

interface Deps extends RouteDeps, Pick<Kernel, 'filled'> {
  readonly users: Users
  readonly roleSources: RoleSources
}

export default definePlugin<Deps>({
  name: 'users',
  version: '1.0.0',
  description: 'Manages the users who may sign in and call the API.',
  kernel: '^2.0.0',
  needs: { http: '^1.0.0' },
  codes: Object.values(codes),
  store: {
    entities: [RoleSource],
    migrations: [{ name: '0001-role-source', class: RoleSource0001 }]
  },
  services: { directory: asFunction(openUserDirectory).singleton() },
  exports: {
    users: asFunction(openUsers).singleton(),
    roleSources: asFunction(openRoleSources).singleton()
  },
  slots: [
    rowFieldSlot,
    creationSlot,
    disableSlot,
    roleSlot,
    roleSourceSlot,
    removalSlot,
    recordFieldSlots.user,
    listFilterSlots.user,
    recordOptionSlots.user,
    listOptionSlots.user
  ],
  fills: [endedSources, documentSchema],
  routes,
  commands
})
