import { setImmediate } from 'node:timers/promises'
import type { Metrics } from '../../kernel/metrics.ts'
import type { Kernel } from '../../kernel/plugin.ts'
import { Admission } from './entities.ts'
import { conflictMetric, loadConflicts } from './instance-conflicts.ts'

interface Row {
  readonly id: string
  readonly name: string
  readonly revoked_at: number | null
}

const clientsPerPage = 1000

export const openMetrics = ({
  store,
  control,
  clock
}: Pick<Kernel, 'store' | 'control' | 'clock'>): Metrics => {
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
    const conflicts = await store.read(em => loadConflicts(null, clock.now(), em))
    const pending = await store.read(em => em.count(Admission, { pendingSince: { $ne: null } }))
    const isConnected = ({ id, revoked_at }: Row) =>
      revoked_at === null && control.peers.find(id) !== undefined
    return [
      conflictMetric(conflicts.keys()),
      {
        name: 'svc_clients_pending',
        type: 'gauge',
        help: 'Clients that wait for an approval.',
        labels: [],
        samples: [{ labelValues: [], value: pending }]
      },
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
