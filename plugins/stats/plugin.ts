import { asFunction } from 'awilix'
import { messages, StatsReport } from '../../agent/wire/journal-report.ts'
import { connectionSlot } from '../../kernel/control/peers.ts'
import { metricsSlot } from '../../kernel/metrics.ts'
import { definePlugin, type Kernel, type PeerCall } from '../../kernel/plugin.ts'
import { respond } from '../../kernel/wire/message.ts'
import { type Clients, removingSlot } from '../clients/exports.ts'
import { type Rules, removedSlot } from '../rules/exports.ts'
import { removalSlot as userRemovingSlot } from '../users/exports.ts'
import { fills as commandFills, commands } from './commands.ts'
import { StatsEpoch, StatsRemovedRule, StatsRow, StatsTotal } from './entities.ts'
import { committedSlot } from './exports.ts'
import { Stats0001 } from './migrations/0001-stats.ts'
import { routes } from './routes.ts'
import { forgetClient } from './rule-owners.ts'
import { openStats, type Stats } from './stats.ts'

interface Deps extends Kernel {
  readonly clients: Clients
  readonly rules: Rules
  readonly stats: Stats
}

const hourMs = 3_600_000

export default definePlugin<Deps>({
  name: 'stats',
  version: '1.0.0',
  description: 'Traffic counters of rules.',
  kernel: '^2.0.0',
  needs: { clients: '^1.0.0', http: '^1.0.0', rules: '^1.0.0', users: '^1.0.0' },
  store: {
    entities: [StatsRow, StatsTotal, StatsEpoch, StatsRemovedRule],
    migrations: [{ name: '0001-stats', class: Stats0001 }]
  },
  exports: { stats: asFunction(openStats).singleton() },
  slots: [committedSlot],
  fills: [
    connectionSlot.fillWith(({ stats }: Deps) => stats.connection),
    removedSlot.fillWith(({ stats }: Deps) => stats.ruleRemoved),
    metricsSlot.fillWith(({ stats }: Deps) => stats.metrics),
    removingSlot.fill(({ id }, em) => forgetClient(id, em)),
    userRemovingSlot.fillWith(({ stats }: Deps) => ({
      async remove({ id }, em) {
        await stats.disown(id, em)
        return { ids: [] }
      }
    })),
    ...commandFills
  ],
  messages,
  handlers: [
    respond(StatsReport, async ({ peer, deps }: PeerCall<Deps>, report) => {
      await deps.stats.ingest({ ...report, clientId: peer.clientId, sessionId: peer.sessionId })
      return { epoch: report.epoch, seq: report.seq, server_time_ms: deps.clock.now() }
    })
  ],
  routes,
  commands,
  async start({ deps: { clock, control, stats }, defer }) {
    defer(stats.release)
    defer(stats.flush)
    defer(clock.every(hourMs, () => control.servers.onOne('stats.prune', stats.prune)))
    await stats.start()
  }
})
