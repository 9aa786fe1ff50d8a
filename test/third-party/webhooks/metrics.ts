import type { Metric } from 'sluice/plugin'
import type { Admin } from './admin.ts'
import type { Dispatcher } from './dispatcher.ts'
import type { Queue } from './queue.ts'
import type { EndpointRow } from './schema.ts'

interface Services {
  readonly admin: Admin
  readonly dispatcher: Dispatcher
  readonly queue: Queue
}

export const openMetrics =
  ({ admin, dispatcher, queue }: Services) =>
  async (): Promise<readonly Metric[]> => {
    const rows = await admin.list()
    const gauge = (name: string, help: string, read: (row: EndpointRow) => number): Metric => ({
      name,
      type: 'gauge',
      help,
      labels: ['endpoint'],
      samples: rows.map(row => ({ labelValues: [row.name], value: read(row) }))
    })
    return [
      gauge('webhooks_waiting', 'Events that wait for delivery', ({ waiting }) => waiting),
      gauge('webhooks_dead', 'Dead letters', ({ dead }) => dead),
      {
        name: 'webhooks_attempts_total',
        type: 'counter',
        help: 'Delivery attempts, including test events',
        labels: ['endpoint', 'outcome'],
        samples: rows.flatMap(({ name }) =>
          (['delivered', 'failed'] as const).map(result => ({
            labelValues: [name, result],
            value: dispatcher.count(name, result)
          }))
        )
      },
      {
        name: 'webhooks_dropped_total',
        type: 'counter',
        help: 'Events dropped because the queue was full',
        labels: ['endpoint'],
        samples: rows.map(({ name }) => ({ labelValues: [name], value: queue.dropped(name) }))
      }
    ]
  }
