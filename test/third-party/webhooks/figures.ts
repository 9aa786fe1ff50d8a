import type { Metric } from 'sluice/plugin'
import type { Courier } from './courier.ts'
import type { Desk } from './desk.ts'
import type { Outbox } from './outbox.ts'
import type { EndpointRow } from './schema.ts'

interface Services {
  readonly desk: Desk
  readonly courier: Courier
  readonly outbox: Outbox
}

export const openFigures =
  ({ desk, courier, outbox }: Services) =>
  async (): Promise<readonly Metric[]> => {
    const rows = await desk.list()
    const gauge = (name: string, help: string, read: (row: EndpointRow) => number): Metric => ({
      name,
      type: 'gauge',
      help,
      labels: ['endpoint'],
      samples: rows.map(row => ({ labelValues: [row.name], value: read(row) }))
    })
    return [
      gauge('webhooks_waiting', 'Events that are still to be delivered', ({ waiting }) => waiting),
      gauge('webhooks_dead', 'Events that were given up', ({ dead }) => dead),
      {
        name: 'webhooks_attempts_total',
        type: 'counter',
        help: 'Attempts to deliver, tests among them',
        labels: ['endpoint', 'outcome'],
        samples: rows.flatMap(({ name }) =>
          (['delivered', 'failed'] as const).map(is => ({
            labelValues: [name, is],
            value: courier.count(name, is)
          }))
        )
      },
      {
        name: 'webhooks_dropped_total',
        type: 'counter',
        help: 'Events that found the line full',
        labels: ['endpoint'],
        samples: rows.map(({ name }) => ({ labelValues: [name], value: outbox.dropped(name) }))
      }
    ]
  }
