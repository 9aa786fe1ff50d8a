import { asFunction } from 'awilix'
import { connectionSlot } from '../../kernel/control/peers.ts'
import { metricsSlot } from '../../kernel/metrics.ts'
import { definePlugin } from '../../kernel/plugin.ts'
import { expirySlot, noticeKindSlot, noticeKindsOf } from '../http/exports.ts'
import { removedSlot, stateSlot } from '../rules/exports.ts'
import { removalSlot } from '../users/exports.ts'
import { checkConfig } from './channel.ts'
import { openSend } from './channels/send.ts'
import { commands, notDelivered } from './commands.ts'
import { openDeliveries } from './deliveries.ts'
import { openDispatcher } from './dispatcher.ts'
import { openKindRegistry } from './kind-registry.ts'
import { backupKind, openBackupAge } from './kinds/backup-age.ts'
import { edgeKinds, openEdges } from './kinds/edges.ts'
import { expiryKind, openExpiries } from './kinds/expiries.ts'
import { failedRuleKind, openFailedRules } from './kinds/failed-rules.ts'
import { openMessages } from './messages.ts'
import { channelNotFound, openNotificationList } from './notification-list.ts'
import { openObjects } from './objects.ts'
import { openPeriodicWork, type WorkDeps } from './periodic-work.ts'
import { openResults } from './results.ts'
import { routes } from './routes.ts'
import { type Config, config } from './settings.ts'
import { store } from './store.ts'
import { userRemoval } from './user-removal.ts'

const ownKinds = [...edgeKinds, failedRuleKind, expiryKind, backupKind]

export default definePlugin<WorkDeps>({
  name: 'notify',
  version: '1.0.0',
  description: 'Notifications about clients, rules and quotas, in groups, to channels of the configuration.',
  kernel: '^2.0.0',
  needs: { http: '^1.0.0', users: '^1.0.0', clients: '^1.0.0', rules: '^1.0.0' },
  config,
  checkConfig: (config: Config, plugins) =>
    checkConfig(config, [...ownKinds.map(({ kind }) => kind), ...noticeKindsOf(plugins)]),
  codes: [channelNotFound, notDelivered],
  store,
  services: {
    messages: asFunction(openMessages).singleton(),
    objects: asFunction(openObjects).singleton(),
    kindRegistry: asFunction(openKindRegistry(ownKinds)).singleton(),
    results: asFunction(({ config }: WorkDeps) =>
      openResults(() => Object.keys(config.channels))
    ).singleton(),
    deliveries: asFunction(openDeliveries).singleton(),
    send: asFunction(openSend).singleton(),
    dispatcher: asFunction(openDispatcher).singleton(),
    notificationList: asFunction(openNotificationList).singleton(),
    edges: asFunction(openEdges).singleton(),
    failedRules: asFunction(openFailedRules).singleton(),
    expiries: asFunction(openExpiries).singleton(),
    backupAge: asFunction(openBackupAge).singleton(),
    periodicWork: asFunction(openPeriodicWork).singleton()
  },
  slots: [noticeKindSlot, expirySlot],
  fills: [
    connectionSlot.fillWith(({ edges }: WorkDeps) => ({ joined: edges.joined })),
    metricsSlot.fillWith(({ results }: WorkDeps) => results.metrics),
    stateSlot.fillWith(({ failedRules }: WorkDeps) => failedRules.changed),
    removedSlot.fillWith(({ failedRules }: WorkDeps) => failedRules.removed),
    removalSlot.fill(userRemoval)
  ],
  routes,
  commands,
  start: ({ deps: { periodicWork }, defer }) => periodicWork.start(defer)
})
