import { asFunction } from 'awilix'
import { definePlugin, type Kernel } from '../../kernel/plugin.ts'
import {
  documentSchemaSlot,
  listFilterSlots,
  listOptionSlots,
  recordFieldSlots,
  recordOptionSlots
} from '../http/exports.ts'
import type { Rules } from '../rules/exports.ts'
import { admissionCodes, admissionFills } from './admission.ts'
import { fills as commandFills, commands } from './commands.ts'
import { documentSchema } from './document-schema.ts'
import { Grant, LostRule } from './entities.ts'
import { grantExplainer } from './explain.ts'
import { grantSourceSlot, type SourcedGrants } from './exports.ts'
import { type GrantsService, openGrants } from './grants.ts'
import { keys, type LostRules, lostState, openLostRules } from './lost-rules.ts'
import { Grants0001 } from './migrations/0001-grants.ts'
import { Grants0002 } from './migrations/0002-exit-grants.ts'
import { codes, routes } from './routes.ts'
import { openSourcedGrants } from './sourced-grants.ts'
import { sweepOrphans, userFills } from './user-grants.ts'
import { Targets } from './wire.ts'

interface Deps extends Kernel {
  readonly grants: GrantsService
  readonly sourcedGrants: SourcedGrants
  readonly lostRules: LostRules
  readonly rules: Rules
}

export default definePlugin<Deps>({
  name: 'grants',
  version: '1.0.0',
  description: 'Limits the clients, ports and targets that users may use for rules.',
  kernel: '^2.0.0',
  keys,
  needs: { http: '^1.0.0', clients: '^1.0.0', users: '^1.0.0', rules: '^1.0.0' },
  codes: [...codes, ...admissionCodes],
  store: {
    entities: [Grant, LostRule],
    migrations: [
      { name: '0001-grants', class: Grants0001 },
      { name: '0002-exit-grants', class: Grants0002 }
    ]
  },
  services: { lostRules: asFunction(openLostRules).singleton() },
  exports: {
    grants: asFunction(openGrants).singleton(),
    sourcedGrants: asFunction(openSourcedGrants).singleton()
  },
  slots: [
    grantSourceSlot,
    recordFieldSlots.grant,
    listFilterSlots.grant,
    recordOptionSlots.grant,
    listOptionSlots.grant
  ],
  fills: [
    ...admissionFills,
    grantExplainer,
    lostState,
    ...userFills,
    documentSchemaSlot.fillWith(documentSchema),
    ...commandFills
  ],
  messages: [Targets],
  routes,
  commands,
  async start({ deps: { store, filled, clock, control, lostRules }, defer }) {
    await store.change(em => sweepOrphans(filled, em))
    defer(clock.every(60_000, () => control.servers.onOne('grants.lost-rules', lostRules.removeDue)))
  }
})
