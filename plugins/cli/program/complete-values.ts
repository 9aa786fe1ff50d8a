import { Type } from '../../../kernel/cli/args.ts'
import { defineCommand } from '../../../kernel/cli/command.ts'

/** Prints values for shell completion. */
export const completeValues = defineCommand({
  name: 'complete',
  summary: 'Print values of an argument; completion scripts run this command.',
  examples: ['sluice complete /v1/clients client_name'],
  args: Type.Object({
    path: Type.String({ description: 'Path of a list in the operator API.' }),
    property: Type.String({ description: 'Property of its rows, or several: client_name:listen_port.' })
  }),
  positional: ['path', 'property'],
  async run({ api, args: { path, property }, print }) {
    const rows = await api.get<readonly Readonly<Record<string, unknown>>[]>(path) // the first page
    const values = rows.map(row => property.split(':').map(name => row[name] ?? null))
    print.line(
      values
        .filter(parts => !parts.includes(null))
        .map(parts => parts.join(':'))
        .join('\n')
    )
  }
})
