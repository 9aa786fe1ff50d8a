import { asFunction } from 'awilix'
import { Type } from 'typebox'
import { metricsSlot } from '../../kernel/metrics.ts'
import { definePlugin, type Kernel } from '../../kernel/plugin.ts'
import { Listen } from '../../kernel/settings.ts'
import { buildInfo } from './build-info.ts'
import { openListener } from './listener.ts'
import { pageSlot } from './page.ts'
import { routes } from './routes.ts'
import { openScrape, type Scrape } from './scrape.ts'

const keys = Type.Object({
  metrics_listen: Listen('127.0.0.1:7081', 'Address of /metrics, which needs no credential.')
})

interface Deps extends Kernel<typeof keys> {
  readonly scrape: Scrape
}

export default definePlugin<Deps>({
  name: 'metrics',
  version: '1.0.0',
  description: 'Metrics for Prometheus.',
  kernel: '^2.0.0',
  needs: { http: '^1.0.0' },
  keys,
  services: { scrape: asFunction(openScrape).singleton() },
  slots: [pageSlot],
  fills: [metricsSlot.fill(async () => [buildInfo('svc_build_info')])],
  routes,
  async start({ deps: { config, scrape, filled, clock, log }, defer }) {
    const pages = filled(pageSlot).map(({ value }) => value)
    const { port, close } = await openListener({ listen: config.metrics_listen, scrape, pages, clock, log })
    defer(close)
    log.info('metrics.listening', `/metrics is served on port ${port}`, { port })
  }
})
