import { asFunction } from 'awilix'
import { objectKindSlot } from '../../kernel/control/managed-objects.ts'
import { connectionSlot } from '../../kernel/control/peers.ts'
import { metricsSlot } from '../../kernel/metrics.ts'
import { definePlugin } from '../../kernel/plugin.ts'
import { removingSlot } from '../clients/exports.ts'
import { documentSchemaSlot, noticeKind } from '../http/exports.ts'
import { committedSlot } from '../stats/exports.ts'
import { removalSlot as userRemovingSlot } from '../users/exports.ts'
import { fills as commandFills, commands } from './commands.ts'
import { Quota } from './entities.ts'
import { explains } from './explain.ts'
import { levelSlot } from './exports.ts'
import { openMetrics } from './metrics.ts'
import { Quota0001 } from './migrations/0001-quota.ts'
import { openQuotaNotice, type QuotaNotice } from './notice.ts'
import { quotaNotFound } from './quota-reader.ts'
import { openQuotas, type Quotas, type Services } from './quotas.ts'
import { requirement, unsupported } from './requirement.ts'
import { routes } from './routes.ts'
import { DocumentBody, invalidBillingAnchor, invalidQuotaSize } from './schema.ts'
import { keys } from './settings.ts'
import { messages } from './wire.ts'

interface Deps extends Services {
  readonly quotas: Quotas
  readonly quotaNotice: QuotaNotice
}

export default definePlugin<Deps>({
  name: 'quota',
  version: '1.0.0',
  description: 'Monthly byte limits for users on clients.',
  kernel: '^2.0.0',
  // Depends on rules also for the push order: an agent gets quotas before the rules that they limit.
  needs: { http: '^1.0.0', clients: '^1.0.0', users: '^1.0.0', rules: '^1.0.0', stats: '^1.0.0' },
  keys,
  codes: [quotaNotFound, unsupported, invalidQuotaSize, invalidBillingAnchor],
  store: { entities: [Quota], migrations: [{ name: '0001-quota', class: Quota0001 }] },
  services: {
    quotas: asFunction(openQuotas).singleton(),
    quotaNotice: asFunction(openQuotaNotice).singleton()
  },
  slots: [levelSlot],
  fills: [
    requirement,
    explains,
    objectKindSlot.fillWith(({ quotas }: Deps) => quotas.kind),
    connectionSlot.fillWith(({ quotas }: Deps) => quotas.connection),
    metricsSlot.fillWith(openMetrics),
    noticeKind('quota', ({ quotaNotice }: Deps) => quotaNotice.source),
    levelSlot.fillWith(({ quotaNotice }: Deps) => quotaNotice.reached),
    committedSlot.fillWith(({ quotas }: Deps) => quotas.onCommitted),
    removingSlot.fillWith(({ quotas }: Deps) => quotas.lifecycle.clientRemoved),
    userRemovingSlot.fillWith(({ quotas }: Deps) => ({ remove: quotas.lifecycle.userRemoved })),
    documentSchemaSlot.fill({ name: 'quotas', entry: () => DocumentBody }),
    ...commandFills
  ],
  messages,
  routes,
  commands,
  start: ({ deps: { quotas, store } }) => store.change(quotas.lifecycle.reconcile)
})
