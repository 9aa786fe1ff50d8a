import { Type } from 'typebox'
import { defineRoute } from '../../kernel/http/route.ts'
import type { Scrape } from './scrape.ts'

interface Deps {
  readonly scrape: Scrape
}

const read = defineRoute({
  method: 'GET',
  url: '/v1/metrics',
  action: 'metrics.read',
  access: 'viewer',
  reply: 'text',
  summary: 'Returns the page that /metrics on metrics_listen serves.',
  schema: () => ({ reply: Type.String({ examples: ['# TYPE svc_clients_connected gauge'] }), errors: [] }),
  run: async ({ scrape }: Deps) => (await scrape()) as unknown as string // a stream of it
})

export const routes = [read]
