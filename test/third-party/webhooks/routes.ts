import { defineList, defineRoute, Type } from 'sluice/plugin'
import type { Admin } from './admin.ts'
import type { Dispatcher } from './dispatcher.ts'
import { DeadRow, EndpointRow, TestRow } from './schema.ts'

interface Deps {
  readonly admin: Admin
  readonly dispatcher: Dispatcher
}

const access = 'superadmin'
const closed = { additionalProperties: false } as const
const Name = Type.Object({ name: Type.String({ description: 'Name of an endpoint.' }) }, closed)
const DeadLetterId = Type.Object(
  { id: Type.String({ description: 'delivery_id of a dead letter.' }) },
  closed
)
const Filter = Type.Object({ endpoint: Type.Optional(Type.String()) }, closed)

const list = defineList({
  url: '/v1/webhooks',
  action: 'webhook.list',
  access,
  summary: 'Lists endpoints and the number of their waiting events.',
  schema: () => ({ row: EndpointRow }),
  run: ({ admin }: Deps) => admin.list()
})

const test = defineRoute({
  method: 'POST',
  url: '/v1/webhooks/:name/test',
  action: 'webhook.test',
  access,
  summary: 'Sends a test event now and returns the result.',
  schema: () => ({ params: Name, reply: TestRow }),
  async run({ admin, dispatcher }: Deps, { params: { name }, change }) {
    await change({ kind: 'webhook', id: name }, async () => admin.requireEndpoint(name))
    const outcome = await dispatcher.test(name)
    return {
      delivery_id: outcome.id,
      delivered: outcome.result === 'delivered',
      status: outcome.status,
      error: outcome.result === 'delivered' ? null : outcome.error,
      took_ms: outcome.tookMs
    }
  }
})

const dead = defineList({
  url: '/v1/webhooks/dead-letters',
  action: 'webhook.list-dead',
  access,
  summary: 'Lists dead letters, the oldest first.',
  schema: () => ({ query: Filter, row: DeadRow }),
  run: async ({ admin }: Deps, { query }) => admin.dead(query.endpoint)
})

const retry = defineRoute({
  method: 'POST',
  url: '/v1/webhooks/dead-letters/:id/retry',
  action: 'webhook.retry',
  access,
  summary: 'Queues a dead letter again, before newer events.',
  schema: () => ({ params: DeadLetterId, reply: DeadRow }),
  run: ({ admin }: Deps, { params: { id }, change }) =>
    change({ kind: 'webhook_delivery', id }, em => admin.retry(id, em))
})

const remove = defineRoute({
  method: 'DELETE',
  url: '/v1/webhooks/dead-letters/:id',
  action: 'webhook.forget',
  access,
  status: 204,
  summary: 'Deletes a dead letter.',
  schema: () => ({ params: DeadLetterId, reply: Type.Void() }),
  run: ({ admin }: Deps, { params: { id }, change }) =>
    change({ kind: 'webhook_delivery', id }, em => admin.remove(id, em))
})

export const routes = [list, test, dead, retry, remove]
