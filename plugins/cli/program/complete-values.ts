import { Type } from '../../../kernel/cli/args.ts'
import { defineCommand } from '../../../kernel/cli/command.ts'

/** Prints values for completion. A shell shows no error in the middle of a line. */
export const completeValues = defineCommand({
  name: 'complete',
  summary: 'Print values for the completion of arguments; the scripts of completion run it.',
  examples: ['sluice complete /v1/clients client_name'],
  args: Type.Object({
    path: Type.String({ description: 'A list of the operator API.' }),
    property: Type.String({ description: 'The property of its rows, or several: client_name:listen_port.' })
  }),
  positional: ['path', 'property'],
  async run({ api, args: { path, property }, print }) {
    const rows = await api.get<readonly Readonly<Record<string, unknown>>[]>(path) // of many, the first page
    const values = rows.map(row => property.split(':').map(name => row[name] ?? null))
    print.line(
      values
        .filter(parts => !parts.includes(null))
        .map(parts => parts.join(':'))
        .join('\n')
    )
  }
})
