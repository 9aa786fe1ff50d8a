import { asFunction } from 'awilix'
import { metricsSlot } from '../../kernel/metrics.ts'
import { definePlugin } from '../../kernel/plugin.ts'
import { listFilterSlots, listOptionSlots, recordFieldSlots } from '../http/exports.ts'
import { clientNotRevoked, openClients } from './clients.ts'
import { commands } from './commands.ts'
import { changedSlot, clientNameAmbiguous, removingSlot, revokingSlot, visibleSlot } from './exports.ts'
import { openMetrics } from './metrics.ts'
import { invalidClientAddress, invalidClientName } from './name-and-address.ts'
import { type RouteDeps, routes } from './routes.ts'

/** The table of clients belongs to the kernel, which checks tokens before any plugin runs. */
export default definePlugin<RouteDeps>({
  name: 'clients',
  version: '1.0.0',
  description: 'Edge hosts, as the server knows them.',
  kernel: '^2.0.0',
  needs: { http: '^1.0.0' },
  codes: [clientNotRevoked, clientNameAmbiguous, invalidClientName, invalidClientAddress],
  exports: { clients: asFunction(openClients).singleton() },
  slots: [
    visibleSlot,
    changedSlot,
    revokingSlot,
    removingSlot,
    recordFieldSlots.client,
    listFilterSlots.client,
    listOptionSlots.client
  ],
  fills: [metricsSlot.fillWith(openMetrics)],
  routes,
  commands
})
