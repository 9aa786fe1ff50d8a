import { asFunction } from 'awilix'
import { Type } from 'typebox'
import { defineRoute } from '../../kernel/http/route.ts'
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

export default definePlugin<Deps>({
  name: 'health',
  version: '1.0.0',
  kernel: '^2.0.0',
  needs: { http: '^1.0.0', metrics: '^1.0.0' },
  services: { readiness: asFunction(openReadiness).singleton() },
  fills: [pageSlot.fill(livePage), pageSlot.fillWith(({ readiness }: Deps) => readyPage(readiness))],
  routes: [livez, readyz]
})
