import { defineCommand, Fault, Type } from 'sluice/plugin'
import { webhookNotDelivered } from './admin.ts'
import type { DeadRow, EndpointRow, TestRow } from './schema.ts'

const list = defineCommand({
  name: 'webhook list',
  summary: 'List endpoints and the number of their waiting events.',
  run: async ({ api, print }) =>
    print.data(await api.list<EndpointRow>('/v1/webhooks'), [
      'name',
      'host',
      ['events', ({ events }) => events.join(' ')],
      'waiting',
      'next_at',
      'error',
      'dead'
    ])
})

const test = defineCommand({
  name: 'webhook test',
  summary: 'Send a test event now.',
  args: Type.Object({ endpoint: Type.String({ description: 'Name of the endpoint.' }) }),
  positional: ['endpoint'],
  async run({ api, args: { endpoint }, print }) {
    const row = await api.send<TestRow>('POST', `/v1/webhooks/${encodeURIComponent(endpoint)}/test`)
    print.data(row)
    if (!row.delivered) throw new Fault(webhookNotDelivered, `${endpoint}: ${row.error}`)
  }
})

const dead = defineCommand({
  name: 'webhook dead',
  summary: 'List dead letters, the oldest first.',
  args: Type.Object({
    endpoint: Type.Optional(Type.String({ description: 'Only dead letters of this endpoint.' }))
  }),
  run: async ({ api, args: { endpoint }, print }) =>
    print.data(await deadOf(api, endpoint), [
      'delivery_id',
      'endpoint',
      'event',
      'attempts',
      'error',
      'created_at',
      'dead_at'
    ])
})

const DeliveryIds = {
  delivery: Type.Array(Type.String(), { description: 'delivery_id, as `webhook dead` shows it.' })
}
const pathOf = (id: string): string => `/v1/webhooks/dead-letters/${encodeURIComponent(id)}`

const retry = defineCommand({
  name: 'webhook retry',
  summary: 'Queue dead letters again.',
  args: Type.Object(DeliveryIds),
  positional: ['delivery'],
  async run({ api, args: { delivery }, print }) {
    const rows: DeadRow[] = []
    for (const id of delivery) rows.push(await api.send<DeadRow>('POST', `${pathOf(id)}/retry`))
    print.data(rows, ['delivery_id', 'endpoint', 'event'])
  }
})

const forget = defineCommand({
  name: 'webhook forget',
  summary: 'Delete dead letters.',
  args: Type.Object(DeliveryIds),
  positional: ['delivery'],
  async run({ api, args: { delivery }, print }) {
    for (const id of delivery) {
      await api.send('DELETE', pathOf(id))
      print.done(`${id} is deleted`, { webhook_id: id })
    }
  }
})

export const commands = [list, test, dead, retry, forget]

const deadOf = (api: { list<T>(path: string): Promise<T[]> }, endpoint: string | undefined) =>
  api.list<DeadRow>(
    endpoint === undefined
      ? '/v1/webhooks/dead-letters'
      : `/v1/webhooks/dead-letters?endpoint=${encodeURIComponent(endpoint)}`
  )
