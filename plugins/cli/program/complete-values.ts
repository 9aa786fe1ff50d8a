import { Type } from '../../../kernel/cli/args.ts'
import { type Api, defineCommand } from '../../../kernel/cli/command.ts'

/** Prints values for shell completion. */
export const completeValues = defineCommand({
  name: 'complete',
  summary: 'Print values of an argument; completion scripts run this command.',
  examples: ['sluice complete /v1/clients client_name'],
  args: Type.Object({
    path: Type.String({ description: 'Path of a list in the operator API.' }),
    property: Type.String({
      description: 'Property of its rows, several as client_name:listen_port, or alternatives with commas.'
    })
  }),
  positional: ['path', 'property'],
  async run({ api, args: { path, property }, print }) {
    const values = await listValues(api, [path, property])
    print.text(values.filter(isWord).join('\n'))
  }
})

/** A line break would begin another value, and a dash an option. */
const isWord = (value: string): boolean => !/\p{C}|^-/u.test(value)

/** Returns the values of an argument that are on the first page of its list, each once. */
export async function listValues(
  api: Pick<Api, 'get'>,
  [path, property]: readonly [path: string, property: string]
): Promise<string[]> {
  const rows = await api.get<readonly Readonly<Record<string, unknown>>[]>(path)
  const forms = property.split(',')
  return [...new Set(forms.flatMap(form => rows.flatMap(row => formatValue(form, row) ?? [])))]
}

/** Replaces the names of properties in a form such as client_name:listen_port. Returns null if one has no value. */
function formatValue(form: string, row: Readonly<Record<string, unknown>>): string | null {
  const names = form.match(/\w+/g) ?? []
  if (names.some(name => (row[name] ?? null) === null)) return null
  return form.replace(/\w+/g, name => String(row[name]))
}
