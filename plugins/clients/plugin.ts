import { asFunction } from 'awilix'
import { metricsSlot } from '../../kernel/metrics.ts'
import { definePlugin, type Kernel } from '../../kernel/plugin.ts'
import { type Clients, clientNotRevoked, openClients } from './clients.ts'
import { commands } from './commands.ts'
import { removingSlot, revokingSlot, visibleSlot } from './exports.ts'
import { invalidClientAddress, invalidClientName } from './label.ts'
import { openMetrics } from './metrics.ts'
import { clientNameAmbiguous } from './pick.ts'
import { routes } from './routes.ts'

interface Deps extends Kernel {
  readonly clients: Clients
}

/** Its rows are the kernel's own: a token is judged before any plugin is asked. */
export default definePlugin<Deps>({
  name: 'clients',
  version: '1.0.0',
  kernel: '^1.0.0',
  codes: [clientNotRevoked, clientNameAmbiguous, invalidClientName, invalidClientAddress],
  exports: { clients: asFunction(openClients).singleton() },
  slots: [visibleSlot, revokingSlot, removingSlot],
  fills: [metricsSlot.fillWith(openMetrics)],
  routes,
  commands
})
