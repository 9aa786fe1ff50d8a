import { asFunction } from 'awilix'
import { objectKindSlot } from '../../kernel/control/managed-objects.ts'
import { connectionSlot } from '../../kernel/control/peers.ts'
import { definePlugin, type Kernel } from '../../kernel/plugin.ts'
import { removingSlot, visibleSlot } from '../clients/exports.ts'
import { documentSchemaSlot, listFilterSlots, listOptionSlots } from '../http/exports.ts'
import { roleSlot, rowFieldSlot, removalSlot as userRemovingSlot } from '../users/exports.ts'
import { type RouteDeps, routes } from './api/routes.ts'
import { portInUse } from './changes/insert-rules.ts'
import { targetCodes, validationProtocol } from './changes/parse-draft.ts'
import { ruleCount } from './changes/user-changes.ts'
import { activationFailed, bodyEmpty, immutableField, ruleNotFound } from './codes.ts'
import { documentSchema } from './commands/document-schema.ts'
import { fills as commandFills, commands } from './commands.ts'
import { closedHandler } from './delivery/closed-rules.ts'
import { DerivedPartRow, FieldValue, RefusedMember, Rule } from './entities.ts'
import { requirementCodes } from './fields/requirements.ts'
import { fieldUnsupported } from './fields/rule-field.ts'
import { Rules0001 } from './migrations/0001-rules.ts'
import { nameCodes, nameFills } from './names/rule-names.ts'
import { openRules } from './rules.ts'
import { keys } from './settings.ts'
import { clientNotGranted, slots } from './slots.ts'
import { messages, Settings, settingsPart } from './wire.ts'

type Deps = Kernel<typeof keys> & RouteDeps

export default definePlugin<Deps>({
  name: 'rules',
  version: '1.0.0',
  description: 'Ports of clients that are forwarded to targets.',
  kernel: '^2.0.0',
  needs: { http: '^1.0.0', clients: '^1.0.0', users: '^1.0.0' },
  keys,
  codes: [
    ruleNotFound,
    clientNotGranted,
    activationFailed,
    portInUse,
    fieldUnsupported,
    validationProtocol,
    ...requirementCodes,
    ...targetCodes,
    bodyEmpty,
    immutableField,
    ...nameCodes
  ],
  store: {
    entities: [Rule, RefusedMember, FieldValue, DerivedPartRow],
    migrations: [{ name: '0001-rules', class: Rules0001 }]
  },
  exports: { rules: asFunction(openRules).singleton() },
  slots: [...slots, listFilterSlots.rule, listOptionSlots.rule],
  fills: [
    objectKindSlot.fillWith(({ rules }: Deps) => rules.kind),
    connectionSlot.fillWith(({ rules, codec, config }: Deps) => ({
      welcome: async () => ({ [settingsPart]: codec.encode(Settings, config) }),
      joined: rules.joined
    })),
    removingSlot.fillWith(({ rules }: Deps) => rules.clientRemoved),
    visibleSlot.fillWith(({ rules }: Deps) => rules.clientsOfOwner),
    rowFieldSlot.fillWith(ruleCount),
    userRemovingSlot.fillWith(({ rules }: Deps) => rules.userRemoval),
    roleSlot.fillWith(({ rules }: Deps) => rules.roleChanged),
    documentSchemaSlot.fillWith(documentSchema),
    ...nameFills,
    ...commandFills
  ],
  messages,
  handlers: [closedHandler],
  routes,
  commands,
  start: ({ deps: { rules } }) => rules.start()
})
