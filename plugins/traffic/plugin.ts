import { asFunction } from 'awilix'
import { definePlugin, type Kernel } from '../../kernel/plugin.ts'
import { committedSlot } from '../stats/exports.ts'
import { removalSlot } from '../users/exports.ts'
import { commands } from './commands.ts'
import { TrafficSample, TrafficSeries } from './entities.ts'
import { Traffic0001 } from './migrations/0001-traffic.ts'
import { routes } from './routes.ts'
import { openTraffic, type Traffic } from './traffic.ts'
import { invalidBucket, outOfRetention } from './window.ts'

interface Deps extends Kernel {
  readonly traffic: Traffic
}

const hourMs = 3_600_000

export default definePlugin<Deps>({
  name: 'traffic',
  version: '1.0.0',
  description: 'Traffic history by minute and hour.',
  kernel: '^2.0.0',
  needs: { clients: '^1.0.0', users: '^1.0.0', stats: '^1.0.0' },
  codes: [invalidBucket, outOfRetention],
  store: {
    entities: [TrafficSeries, TrafficSample],
    migrations: [{ name: '0001-traffic', class: Traffic0001 }]
  },
  services: { traffic: asFunction(openTraffic).singleton() },
  fills: [
    committedSlot.fillWith(({ traffic }: Deps) => traffic.add),
    removalSlot.fillWith(({ traffic }: Deps) => ({
      async remove({ id }, em) {
        await traffic.disown(id, em)
        return { ids: [] }
      }
    }))
  ],
  routes,
  commands,
  async start({ deps: { clock, control, traffic }, defer }) {
    defer(clock.every(hourMs, () => control.servers.onOne('traffic.prune', traffic.prune)))
  }
})
