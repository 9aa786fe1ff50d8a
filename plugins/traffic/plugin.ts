import { asFunction } from 'awilix'
import { definePlugin, type Kernel } from '../../kernel/plugin.ts'
import { removedSlot } from '../rules/exports.ts'
import { committedSlot } from '../stats/exports.ts'
import { removalSlot } from '../users/exports.ts'
import { commands } from './commands.ts'
import { TrafficPending, TrafficRemovedRule, TrafficSample, TrafficSeries } from './entities.ts'
import { Traffic0001 } from './migrations/0001-traffic.ts'
import { routes } from './routes.ts'
import { openTraffic, type Traffic } from './traffic.ts'
import { invalidBucket, outOfRetention } from './window.ts'

interface Deps extends Kernel {
  readonly traffic: Traffic
}

const hourMs = 3_600_000
const foldMs = 60_000 // twelve reports of an agent

export default definePlugin<Deps>({
  name: 'traffic',
  version: '1.0.0',
  description: 'Traffic history by minute and hour, of rules, users, clients and targets.',
  kernel: '^2.0.0',
  needs: { http: '^1.0.0', clients: '^1.0.0', users: '^1.0.0', rules: '^1.0.0', stats: '^1.0.0' },
  codes: [invalidBucket, outOfRetention],
  store: {
    entities: [TrafficSeries, TrafficSample, TrafficPending, TrafficRemovedRule],
    migrations: [{ name: '0001-traffic', class: Traffic0001 }]
  },
  services: { traffic: asFunction(openTraffic).singleton() },
  fills: [
    committedSlot.fillWith(({ traffic }: Deps) => traffic.add),
    removedSlot.fillWith(({ traffic }: Deps) => traffic.ruleRemoved),
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
    await traffic.start()
    defer(clock.every(foldMs, () => control.servers.onOne('traffic.fold', traffic.fold)))
    defer(clock.every(hourMs, () => control.servers.onOne('traffic.prune', traffic.prune)))
  }
})
