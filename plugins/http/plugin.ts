import { asFunction } from 'awilix'
import { hostSlot } from '../../kernel/http/host.ts'
import { metricsSlot } from '../../kernel/metrics.ts'
import { definePlugin, type Kernel } from '../../kernel/plugin.ts'
import { Repeat } from './entities.ts'
import * as rows from './errors.ts'
import { type HttpMetrics, openHttpMetrics } from './metrics.ts'
import { Http0001 } from './migrations/0001-repeat.ts'
import { keys, settingsOf } from './settings.ts'

interface Deps extends Kernel<typeof keys> {
  readonly tally: HttpMetrics
}

export default definePlugin<Deps>({
  name: 'http',
  version: '1.0.0',
  kernel: '^1.0.0',
  keys,
  codes: Object.values(rows),
  store: {
    entities: [Repeat],
    migrations: [{ name: '0001-repeat', class: Http0001 }]
  },
  services: { tally: asFunction(() => openHttpMetrics()).singleton() },
  fills: [
    hostSlot.fillWith(({ config, tally }: Deps) => async options => {
      const { openHttp } = await import('./http.ts') // a command, too, reads this file: it needs no Fastify
      return openHttp({ ...options, ...settingsOf(config), tally })
    }),
    metricsSlot.fillWith(({ tally }: Deps) => tally.metrics)
  ]
})
