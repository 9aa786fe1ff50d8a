import type { Metrics } from '../../kernel/metrics.ts'
import type { Switches } from './switches.ts'

/** Exports the clients with the switch on, as the server knows it. */
export const openMetrics =
  ({ switches }: { readonly switches: Switches }): Metrics =>
  async () => {
    const rows = await switches.list()
    const samples = rows.flatMap(({ client_id }) =>
      client_id === null ? [] : [{ labelValues: [client_id], value: 1 }]
    )
    const help = 'Clients with the switch "under attack" on'
    return [{ name: 'svc_under_attack', type: 'gauge', help, labels: ['client'], samples }]
  }
