import { Type } from 'typebox'
import { defineRoute } from '../../kernel/http/route.ts'
import { liveAnswer } from '../http/listener-exports.ts'
import type { Readiness } from './readiness.ts'

interface Deps {
  readonly readiness: Readiness
}

const publicGet = {
  method: 'GET',
  access: 'public',
  reply: 'media',
  schema: () => ({ reply: Type.Unknown() })
} as const

const livez = defineRoute({
  ...publicGet,
  url: '/livez',
  action: 'health.live',
  summary: 'Answers while the process is alive.',
  run: async (_: Deps) => liveAnswer
})

const readyz = defineRoute({
  ...publicGet,
  url: '/readyz',
  action: 'health.ready',
  summary: 'Returns whether the server is ready; 503 with the reasons if not.',
  run: ({ readiness }: Deps) => readiness()
})

export const healthRoutes = [livez, readyz]
