import { Type } from 'typebox'
import { clientNotFound, invalidTimeRange } from '../../kernel/base/errors.ts'
import { defineRoute } from '../../kernel/http/route.ts'
import { healthCsv } from './health-csv.ts'
import type { HostHealth } from './host-health.ts'
import { ClientParams, Query, Sample } from './schema.ts'

interface Deps {
  readonly hostHealth: HostHealth
}

const ofClient = defineRoute({
  method: 'GET',
  url: '/v1/clients/:client_id/health',
  action: 'client.health',
  access: 'viewer',
  summary: 'Returns the load of an edge host by minute.',
  description: 'Oldest first, for 7 days. Minutes without a connected agent are omitted.',
  csv: healthCsv,
  schema: () => ({
    params: ClientParams,
    query: Query,
    reply: Type.Array(Sample),
    errors: [clientNotFound, invalidTimeRange]
  }),
  run: ({ hostHealth }: Deps, { params, query }) => hostHealth.ofClient(params.client_id, query)
})

export const routes = [ofClient]
