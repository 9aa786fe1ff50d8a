import { setImmediate } from 'node:timers/promises'
import type { Metrics } from '../../kernel/metrics.ts'
import type { Kernel } from '../../kernel/plugin.ts'

interface Row {
  readonly id: string
  readonly name: string
  readonly revoked_at: number | null
}

const clientsPerPage = 1000

export const openMetrics = ({ store, control }: Pick<Kernel, 'store' | 'control'>): Metrics => {
  const pageAfter = (last: string): Promise<Row[]> =>
    store.read(em =>
      em.execute<Row[]>('select id, name, revoked_at from kernel_client where id > ? order by id limit ?', [
        last,
        clientsPerPage
      ])
    )

  /** Reads page by page, so that a large table does not block the event loop. */
  async function readAll(): Promise<readonly Row[]> {
    const rows: Row[] = []
    for (let page: Row[] = []; ; ) {
      page = await pageAfter(rows.at(-1)?.id ?? '')
      rows.push(...page)
      if (page.length < clientsPerPage) return rows
      await setImmediate()
    }
  }

  return async () => {
    const rows = await readAll()
    const isConnected = ({ id, revoked_at }: Row) =>
      revoked_at === null && control.peers.find(id) !== undefined
    return [
      {
        name: 'svc_clients_connected',
        type: 'gauge',
        help: '1 while the control stream of the client is up.',
        labels: ['client'],
        samples: rows.values().map(row => ({ labelValues: [row.id], value: isConnected(row) ? 1 : 0 }))
      },
      {
        name: 'svc_client_info',
        type: 'gauge',
        help: 'Always 1; carries the name of the client.',
        labels: ['client', 'name'],
        samples: rows.values().map(({ id, name }) => ({ labelValues: [id, name], value: 1 }))
      }
    ]
  }
}
