import { asFunction } from 'awilix'
import { connectionSlot } from '../../kernel/control/peers.ts'
import { definePlugin, type PeerCall } from '../../kernel/plugin.ts'
import { respond } from '../../kernel/wire/message.ts'
import { removingSlot } from '../clients/exports.ts'
import { commands } from './commands.ts'
import { HostHealthSample } from './entities.ts'
import { type HostHealth, openHostHealth, type Services } from './host-health.ts'
import { HostHealth0001 } from './migrations/0001-host-health.ts'
import { routes } from './routes.ts'
import { Echo, messages, Sample } from './wire.ts'

interface Deps extends Services {
  readonly hostHealth: HostHealth
}

const hourMs = 3_600_000

export default definePlugin<Deps>({
  name: 'host-health',
  version: '1.0.0',
  description: 'CPU, memory and descriptors of edge hosts by minute.',
  kernel: '^2.0.0',
  needs: { http: '^1.0.0', clients: '^1.0.0' },
  store: {
    entities: [HostHealthSample],
    migrations: [{ name: '0001-host-health', class: HostHealth0001 }]
  },
  services: { hostHealth: asFunction(openHostHealth).singleton() },
  fills: [
    connectionSlot.fillWith(({ hostHealth }: Deps) => hostHealth.connection),
    removingSlot.fillWith(
      ({ hostHealth }: Deps) =>
        ({ id }, em) =>
          hostHealth.forgetClient(id, em)
    )
  ],
  messages,
  handlers: [
    respond(Echo, async () => ({})),
    respond(Sample, async ({ peer, deps }: PeerCall<Deps>, sample) => {
      await deps.hostHealth.report(peer, sample)
      return {}
    })
  ],
  routes,
  commands,
  async start({ deps: { clock, control, hostHealth }, defer }) {
    defer(clock.every(hourMs, () => control.servers.onOne('host-health.prune', hostHealth.prune)))
  }
})
