import { asFunction } from 'awilix'
import { Type } from 'typebox'
import { metricsSlot } from '../../kernel/metrics.ts'
import { definePlugin, type Kernel } from '../../kernel/plugin.ts'
import { Listen } from '../../kernel/settings.ts'
import type { HostCheck } from '../http/exports.ts'
import { unhealthy } from './ask-health.ts'
import { buildInfo } from './build-info.ts'
import { certificateExpiry } from './certificate-expiry.ts'
import { commands } from './commands.ts'
import { livePage, readyPage } from './health.ts'
import { healthRoutes } from './health-routes.ts'
import { openListener } from './listener.ts'
import { pageSlot } from './page.ts'
import { openReadiness, type Readiness } from './readiness.ts'
import { routes } from './routes.ts'
import { openScrape, type Scrape } from './scrape.ts'

const keys = Type.Object({
  metrics_listen: Listen('127.0.0.1:7081', 'Address of /metrics, which needs no authentication.')
})

interface Deps extends Kernel<typeof keys> {
  readonly readiness: Readiness
  readonly scrape: Scrape
  readonly isKnownHost: HostCheck
}

export default definePlugin<Deps>({
  name: 'metrics',
  version: '1.0.0',
  description: 'Metrics for Prometheus, and health.',
  kernel: '^2.0.0',
  needs: { http: '^1.0.0' },
  keys,
  codes: [unhealthy],
  services: {
    readiness: asFunction(openReadiness).singleton(),
    scrape: asFunction(openScrape).singleton()
  },
  slots: [pageSlot],
  fills: [
    metricsSlot.fill(async () => [buildInfo('svc_build_info')]),
    metricsSlot.fillWith(({ control }: Deps) => certificateExpiry(control.certificate)),
    pageSlot.fill(livePage),
    pageSlot.fillWith(({ readiness }: Deps) => readyPage(readiness))
  ],
  routes: [...routes, ...healthRoutes],
  commands,
  async start({ deps: { config, readiness, scrape, isKnownHost, filled, clock, log }, defer, signal }) {
    signal.addEventListener('abort', readiness.stop, { once: true })
    const pages = filled(pageSlot).map(({ value }) => value)
    const listen = config.metrics_listen
    const { port, close } = await openListener({ listen, isKnownHost, scrape, pages, clock, log })
    defer(close)
    log.info('metrics.listening', `/metrics is served on port ${port}`, { port })
  }
})
