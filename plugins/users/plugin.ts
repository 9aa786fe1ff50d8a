import { asFunction } from 'awilix'
import { definePlugin, type Kernel } from '../../kernel/plugin.ts'
import {
  documentSchemaSlot,
  listFilterSlots,
  listOptionSlots,
  recordFieldSlots,
  recordFields,
  recordOptionSlots
} from '../http/exports.ts'
import * as codes from './codes.ts'
import { commands } from './commands.ts'
import { creationSlot, disableSlot, removalSlot, roleSlot, rowFieldSlot, type Users } from './exports.ts'
import { type RouteDeps, routes } from './routes.ts'
import { documentBody, fieldsIn } from './schema.ts'
import { normalizeEntry, openUserDirectory } from './user-directory.ts'
import { openUsers } from './users.ts'

interface Deps extends RouteDeps, Pick<Kernel, 'filled'> {
  readonly users: Users
}

export default definePlugin<Deps>({
  name: 'users',
  version: '1.0.0',
  description: 'Manages the users who may sign in and call the API.',
  kernel: '^2.0.0',
  needs: { http: '^1.0.0' },
  codes: Object.values(codes),
  services: { directory: asFunction(openUserDirectory).singleton() },
  exports: { users: asFunction(openUsers).singleton() },
  slots: [
    rowFieldSlot,
    creationSlot,
    disableSlot,
    roleSlot,
    removalSlot,
    recordFieldSlots.user,
    listFilterSlots.user,
    recordOptionSlots.user,
    listOptionSlots.user
  ],
  fills: [
    documentSchemaSlot.fillWith(({ filled }: Deps) => ({
      name: 'users',
      entry: () => documentBody(filled),
      normalize: entry => normalizeEntry(entry, filled),
      errors: () => [codes.invalidDisplayName, ...recordFields.errors(fieldsIn(filled))],
      defaults: () => recordFields.absent(fieldsIn(filled))
    }))
  ],
  routes,
  commands
})
