import { Type } from '../../kernel/cli/args.ts'
import { defineCommand } from '../../kernel/cli/command.ts'
import { ClientArg, findClientId } from '../clients/command-exports.ts'
import { absoluteTime } from '../http/command-exports.ts'
import { healthCsv } from './health-csv.ts'

const health = defineCommand({
  name: 'client health',
  summary: 'Show the load of an edge host over time.',
  args: Type.Object({
    client: ClientArg,
    from: Type.Optional(
      Type.String({ description: 'RFC 3339, Unix seconds, or an age such as 2h; default: 24 h before --to.' })
    ),
    to: Type.Optional(Type.String({ description: 'Same forms; default: now.' })),
    csv: Type.Optional(Type.Boolean({ description: 'Comma-separated values, for a spreadsheet.' }))
  }),
  positional: ['client'],
  async run({ api, args: { client, from, to, csv }, print }) {
    const path = { client_id: await findClientId(api, client) }
    const query = {
      ...(from !== undefined && { from: absoluteTime(from) }),
      ...(to !== undefined && { to: absoluteTime(to) })
    }
    const samples = await api.call('GET /v1/clients/{client_id}/health', { path, query })
    if (csv) return print.text(healthCsv(samples).trimEnd())
    print.data(samples, [
      ['time', ({ at }) => at.slice(0, 16).replace('T', ' ')],
      ['cpu', ({ cpu_percent }) => `${cpu_percent} %`],
      'memory_used_bytes',
      'memory_total_bytes',
      ['descriptors', ({ open_descriptors }) => String(open_descriptors ?? '-')],
      ['rtt', ({ rtt_ms }) => (rtt_ms === null ? '-' : `${rtt_ms} ms`)]
    ])
  }
})

export const commands = [health]
