import { X509Certificate } from 'node:crypto'
import { asFunction } from 'awilix'
import { Type } from 'typebox'
import { defineRoute } from '../../kernel/http/route.ts'
import { type Metrics, metricsSlot } from '../../kernel/metrics.ts'
import { definePlugin, type Kernel } from '../../kernel/plugin.ts'
import { live, livePage, pageSlot, readyPage } from '../metrics/exports.ts'
import { openReadiness, type Readiness } from './readiness.ts'

interface Deps extends Kernel {
  readonly readiness: Readiness
}

const route = {
  method: 'GET',
  access: 'public',
  reply: 'media',
  schema: () => ({ reply: Type.Unknown() })
} as const

const livez = defineRoute({
  ...route,
  url: '/livez',
  action: 'health.live',
  summary: 'Answers while the process does.',
  run: async (_: Deps) => live
})

const readyz = defineRoute({
  ...route,
  url: '/readyz',
  action: 'health.ready',
  summary: 'Tells whether the server can do its work: 503 if not, with the reasons.',
  run: ({ readiness }: Deps) => readiness()
})

/** The plugin http adds the certificate of the API. */
function expiryOf(certificate: string): Metrics {
  const value = new X509Certificate(certificate).validToDate.getTime() / 1000
  return async () => [
    {
      name: 'svc_certificate_expiry_timestamp_seconds',
      type: 'gauge',
      help: 'When the certificate expires: of the control stream, and of the API.',
      labels: ['certificate'],
      samples: [{ labelValues: ['control'], value }]
    }
  ]
}

export default definePlugin<Deps>({
  name: 'health',
  version: '1.0.0',
  kernel: '^2.0.0',
  needs: { http: '^1.0.0', metrics: '^1.0.0' },
  services: { readiness: asFunction(openReadiness).singleton() },
  fills: [
    pageSlot.fill(livePage),
    pageSlot.fillWith(({ readiness }: Deps) => readyPage(readiness)),
    metricsSlot.fillWith(({ control }: Deps) => expiryOf(control.certificate))
  ],
  routes: [livez, readyz],
  async start({ deps: { readiness }, signal }) {
    signal.addEventListener('abort', readiness.stop, { once: true })
  }
})
