import { Type } from '../../kernel/cli/args.ts'
import { defineCommand } from '../../kernel/cli/command.ts'
import { pushOptions } from '../rules/command-exports.ts'
import { fields } from './fields.ts'

const url = '/v1/source-lists/{list_name}'
const Name = Type.String({ description: 'Name of a list; rules name it as @NAME.' })
const columns = ['name', 'entry_count', 'rule_count', 'updated_at']

const set = defineCommand({
  name: 'source-list set',
  summary: 'Create or replace a list of sources from a file; rules name it as @NAME.',
  examples: [
    'sluice source-list set office --file office.txt',
    'sluice source-list set home --file ranges.csv --country DE,AT'
  ],
  args: Type.Object({
    name: Name,
    file: Type.String({
      description: 'A file with one address or prefix per line, or - for standard input; # starts a comment.'
    }),
    country: Type.Optional(
      Type.String({
        description:
          'Country codes, separated by commas; the file then has FIRST,LAST,CODE or PREFIX,CODE per line.'
      })
    )
  }),
  positional: ['name'],
  async run({ api, args: { name, file, country }, print }) {
    const { readFileArgument } = await import('../cli/command-exports.ts') // rule push loads this module
    const text = await readFileArgument(file)
    const entries = country === undefined ? entryLines(text) : await countryEntries(text, country)
    const list = await api.call(`PUT ${url}`, { path: { list_name: name }, body: { entries } })
    print.data(list, columns)
  }
})

const show = defineCommand({
  name: 'source-list show',
  summary: 'Print the entries of a list of sources, one per line.',
  args: Type.Object({ name: Name }),
  positional: ['name'],
  async run({ api, args: { name }, print }) {
    const { entries } = await api.call(`GET ${url}`, { path: { list_name: name } })
    print.data(
      entries.map(entry => ({ entry })),
      ['entry']
    )
  }
})

const list = defineCommand({
  name: 'source-list list',
  summary: 'List the lists of sources, with the number of rules that name each one.',
  args: Type.Object({}),
  run: async ({ api, print }) => print.data(await api.rows('GET /v1/source-lists'), columns)
})

const remove = defineCommand({
  name: 'source-list remove',
  summary: 'Delete a list of sources that no rule names.',
  args: Type.Object({ name: Name }),
  positional: ['name'],
  async run({ api, args: { name }, print }) {
    await api.call(`DELETE ${url}`, { path: { list_name: name } })
    print.done(`the list ${name} is deleted`, { name })
  }
})

async function countryEntries(text: string, countries: string): Promise<string[]> {
  const { codesIn, prefixesIn } = await import('./countries.ts')
  return prefixesIn(text, codesIn(countries))
}

/** Splits text into entries; ignores comments and blank lines. */
export const entryLines = (text: string): string[] =>
  text.split('\n').flatMap(line =>
    line
      .replace(/#.*/, '')
      .trim()
      .split(/\s+/)
      .filter(word => word !== '')
  )

export const commands = [set, show, list, remove]
export const fills = [pushOptions(...fields)]
