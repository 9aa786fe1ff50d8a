import { defineList, defineRoute, Type } from 'sluice/plugin'
import type { Courier } from './courier.ts'
import type { Desk } from './desk.ts'
import { DeadRow, EndpointRow, TestRow } from './schema.ts'

interface Deps {
  readonly desk: Desk
  readonly courier: Courier
}

const access = 'superadmin'
const closed = { additionalProperties: false } as const
const Name = Type.Object({ name: Type.String({ description: 'Of an endpoint.' }) }, closed)
const Letter = Type.Object({ id: Type.String({ description: 'delivery_id of a dead letter.' }) }, closed)
const Filter = Type.Object({ endpoint: Type.Optional(Type.String()) }, closed)

const list = defineList({
  url: '/v1/webhooks',
  action: 'webhook.list',
  access,
  summary: 'Who is told of events, and what waits for them.',
  schema: () => ({ row: EndpointRow }),
  run: ({ desk }: Deps) => desk.list()
})

const test = defineRoute({
  method: 'POST',
  url: '/v1/webhooks/:name/test',
  action: 'webhook.test',
  access,
  summary: 'Sends a test event now, and says what came of it.',
  schema: () => ({ params: Name, reply: TestRow }),
  async run({ desk, courier }: Deps, { params: { name }, change }) {
    await change({ kind: 'webhook', id: name }, async () => desk.requireEndpoint(name))
    const outcome = await courier.test(name)
    return {
      delivery_id: outcome.id,
      delivered: outcome.is === 'delivered',
      status: outcome.status,
      error: outcome.is === 'failed' ? outcome.error : null,
      took_ms: outcome.tookMs
    }
  }
})

const dead = defineList({
  url: '/v1/webhooks/dead-letters',
  action: 'webhook.list-dead',
  access,
  summary: 'Events that were given up, the oldest first.',
  schema: () => ({ query: Filter, row: DeadRow }),
  run: async ({ desk }: Deps, { query }) => desk.dead(query.endpoint)
})

const retry = defineRoute({
  method: 'POST',
  url: '/v1/webhooks/dead-letters/:id/retry',
  action: 'webhook.retry',
  access,
  summary: 'Puts a dead letter back into the line, before all that has waited since.',
  schema: () => ({ params: Letter, reply: DeadRow }),
  run: ({ desk }: Deps, { params: { id }, change }) =>
    change({ kind: 'webhook_delivery', id }, em => desk.retry(id, em))
})

const remove = defineRoute({
  method: 'DELETE',
  url: '/v1/webhooks/dead-letters/:id',
  action: 'webhook.forget',
  access,
  status: 204,
  summary: 'Forgets a dead letter.',
  schema: () => ({ params: Letter, reply: Type.Void() }),
  run: ({ desk }: Deps, { params: { id }, change }) =>
    change({ kind: 'webhook_delivery', id }, em => desk.remove(id, em))
})

export const routes = [list, test, dead, retry, remove]
