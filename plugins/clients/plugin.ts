import { asFunction } from 'awilix'
import { connectionSlot } from '../../kernel/control/peers.ts'
import { metricsSlot } from '../../kernel/metrics.ts'
import { definePlugin } from '../../kernel/plugin.ts'
import { type Act, listFilterSlots, listOptionSlots, recordFieldSlots } from '../http/exports.ts'
import { openClientExpiry, roundMs } from './client-expiry.ts'
import { clientNotRevoked, openClients } from './clients.ts'
import { clientInUse, clientNotPending, clientPending, clientRevoked } from './codes.ts'
import { commands } from './commands.ts'
import { Admission, InstanceConflictRow } from './entities.ts'
import {
  changedSlot,
  clientNameAmbiguous,
  namedSlot,
  removalErrorSlot,
  removingSlot,
  revokingSlot,
  visibleSlot
} from './exports.ts'
import { conflictHooks } from './instance-conflicts.ts'
import { openMetrics } from './metrics.ts'
import { Clients0001 } from './migrations/0001-clients.ts'
import { invalidClientAddress, invalidClientName } from './name-and-address.ts'
import { type RouteDeps, routes } from './routes.ts'

interface Deps extends RouteDeps {
  readonly act: Act
}

/** The table of the clients themselves belongs to the kernel, which checks tokens before any plugin runs. */
export default definePlugin<Deps>({
  name: 'clients',
  version: '1.0.0',
  description: 'Edge hosts, as the server knows them.',
  kernel: '^2.0.0',
  needs: { http: '^1.0.0' },
  codes: [
    clientNotRevoked,
    clientInUse,
    clientRevoked,
    clientPending,
    clientNotPending,
    clientNameAmbiguous,
    invalidClientName,
    invalidClientAddress
  ],
  store: {
    entities: [InstanceConflictRow, Admission],
    migrations: [{ name: '0001-clients', class: Clients0001 }]
  },
  exports: { clients: asFunction(openClients).singleton() },
  slots: [
    visibleSlot,
    namedSlot,
    changedSlot,
    revokingSlot,
    removalErrorSlot,
    removingSlot,
    recordFieldSlots.client,
    listFilterSlots.client,
    listOptionSlots.client
  ],
  fills: [metricsSlot.fillWith(openMetrics), connectionSlot.fillWith(conflictHooks)],
  routes,
  commands,
  async start({ deps, defer }) {
    defer(deps.clock.every(roundMs, openClientExpiry(deps)))
  }
})
