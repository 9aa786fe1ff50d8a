import { asFunction } from 'awilix'
import { objectKindSlot } from '../../kernel/control/managed-objects.ts'
import { connectionSlot } from '../../kernel/control/peers.ts'
import { definePlugin, type Kernel } from '../../kernel/plugin.ts'
import { removingSlot, visibleSlot } from '../clients/exports.ts'
import { roleSlot, rowFieldSlot, removalSlot as userRemovingSlot } from '../users/exports.ts'
import { activationFailed } from './answer.ts'
import { closedHandler } from './closings.ts'
import { bodyEmpty, immutableField } from './codes.ts'
import { commands } from './commands.ts'
import { rulesKind } from './document-kind.ts'
import { Rule } from './entities.ts'
import { Rules0001 } from './migrations/0001-rules.ts'
import { Rules0002 } from './migrations/0002-values-before.ts'
import { Rules0003 } from './migrations/0003-placed-by.ts'
import { portInUse, validationProtocol } from './new-rule.ts'
import { ruleCount } from './queries.ts'
import { requirementCodes } from './requirements.ts'
import { routes } from './routes.ts'
import { fieldUnsupported } from './rule-field.ts'
import { openRules, type RulesService } from './rules.ts'
import { keys } from './settings.ts'
import { clientNotGranted, ruleNotFound, slots } from './slots.ts'
import { targetCodes } from './targets.ts'
import { messages, Settings, settingsPart } from './wire.ts'

interface Deps extends Kernel<typeof keys> {
  readonly rules: RulesService
}

export default definePlugin<Deps>({
  name: 'rules',
  version: '1.0.0',
  description: 'Ports of clients that are forwarded to targets.',
  kernel: '^2.0.0',
  needs: { clients: '^1.0.0', users: '^1.0.0' },
  keys,
  codes: [
    ruleNotFound,
    clientNotGranted,
    activationFailed,
    portInUse,
    fieldUnsupported,
    ...requirementCodes,
    validationProtocol,
    ...targetCodes,
    ...[bodyEmpty, immutableField]
  ],
  store: {
    entities: [Rule],
    migrations: [
      { name: '0001-rules', class: Rules0001 },
      { name: '0002-values-before', class: Rules0002 },
      { name: '0003-placed-by', class: Rules0003 }
    ]
  },
  exports: { rules: asFunction(openRules).singleton() },
  slots,
  fills: [
    objectKindSlot.fillWith(({ rules }: Deps) => rules.kind),
    connectionSlot.fillWith(({ rules, codec, config }: Deps) => ({
      welcome: async () => ({ [settingsPart]: codec.encode(Settings, config) }),
      joined: rules.joined
    })),
    removingSlot.fillWith(({ rules }: Deps) => async ({ id: clientId }, em) => {
      const { afterCommit } = await rules.removeAll({ clientId }, em, 'cut')
      afterCommit()
    }),
    visibleSlot.fillWith(({ rules }: Deps) => rules.clientsOfOwner),
    rowFieldSlot.fill(ruleCount),
    userRemovingSlot.fillWith(({ rules }: Deps) => rules.userRemoval),
    roleSlot.fillWith(({ rules }: Deps) => rules.roleChanged),
    rulesKind
  ],
  messages,
  handlers: [closedHandler],
  routes,
  commands,
  start: ({ deps: { rules } }) => rules.start()
})
