import { suggestion } from '../../../kernel/base/suggestion.ts'
import type { Api } from '../../../kernel/cli/command.ts'
import { listValues } from './complete-values.ts'
import type { Described } from './installed-commands.ts'

/**
 * After a command has not found an object, looks up its arguments in the lists that complete them. Returns the closest name
 * as '; did you mean NAME?', or ''.
 */
export async function suggestName(
  { args: { properties } }: Pick<Described, 'args'>,
  args: Readonly<Record<string, unknown>>,
  api: Pick<Api, 'get'>
): Promise<string> {
  for (const [key, schema] of Object.entries(properties)) {
    const { values } = schema as { values?: readonly [path: string, property: string] } // our schema keyword
    const words = [args[key]].flat().filter(word => typeof word === 'string')
    if (!values || words.length === 0) continue
    const listed = await listValues(api, values).catch(() => []) // the error that the command ended with matters more
    const names = listed.map(name => name.replace(/\/tcp$/, '')) // the default in CLIENT:PORT
    const text = words.filter(word => !names.includes(word)).map(word => suggestion(word, names))
    const [first] = text.filter(Boolean)
    if (first !== undefined) return first
  }
  return ''
}
