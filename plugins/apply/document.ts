// The file of `apply`, `export` and `diff`: one TOML or JSON document with a list of entries for each kind.
import { parse as parseToml, stringify } from 'smol-toml'
import { Fault, invalidSchema } from '../../kernel/base/errors.ts'
import { readFileArgument } from '../cli/command-exports.ts'
import {
  type DeliveryOptions,
  type DocumentEntry,
  deliveryArgs,
  withoutNull
} from '../rules/command-exports.ts'

/** Entries by kind. `apply` does not touch the objects of absent kinds. */
export type Document = Readonly<Record<string, readonly DocumentEntry[]>>

export interface DocumentFile {
  readonly entries: Document
  readonly delivery: DeliveryOptions // the server validates them
}

/** Throws `validation.schema` if the file cannot be read or has lists of other kinds. */
export async function readDocument(file: string, kinds: readonly string[]): Promise<DocumentFile> {
  const properties = Object.entries(parse(file, await readFileArgument(file)))
  const lists = properties.filter(([key]) => !(key in deliveryArgs))
  const problems = lists.flatMap(([key, entries]) => {
    if (!kinds.includes(key)) return [`${key} must be one of ${kinds.join(', ')}`]
    const isList =
      Array.isArray(entries) && entries.every(entry => typeof entry === 'object' && entry !== null)
    return isList ? [] : [`${key} must be a list of tables: write [[${key}]]`]
  })
  if (problems.length > 0) throw new Fault(invalidSchema, `${file}: ${problems.join('; ')}`)
  const delivery = properties.filter(([key]) => key in deliveryArgs)
  return { entries: Object.fromEntries(lists) as Document, delivery: Object.fromEntries(delivery) }
}

function parse(file: string, text: string): object {
  try {
    return Object(
      /^\s*\{/.test(text) ? parseJson(text) : JSON.parse(JSON.stringify(parseToml(text), stringifyNonFinite))
    )
  } catch (cause) {
    const why = cause instanceof Error ? cause.message : String(cause)
    throw new Fault(invalidSchema, `${file} cannot be read: ${why}`, { cause })
  }
}

/** Throws for a repeated key, like the parser of TOML: `JSON.parse` would drop all values but the last. */
function parseJson(text: string): unknown {
  const value: unknown = JSON.parse(text)
  const levels: Set<string>[] = []
  let key = ''
  for (const [token] of text.matchAll(/"(?:[^"\\]|\\.)*"|[{}:]/g))
    if (token === '{') levels.push(new Set())
    else if (token === '}') levels.pop()
    else if (token !== ':') key = token
    else if (levels.at(-1)?.has(JSON.parse(key)))
      throw new SyntaxError(`the key ${key} is repeated; remove one`)
    else levels.at(-1)?.add(JSON.parse(key))
  return value
}

/** Turns numbers that JSON lacks into text. Times of TOML become text anyway. */
const stringifyNonFinite = (_: string, value: unknown): unknown =>
  typeof value === 'number' && !Number.isFinite(value) ? String(value) : value

/** Omits null properties in both formats, because TOML has no null. */
export function formatDocument(document: Document, format: 'toml' | 'json'): string {
  const present = withoutNull(document) as object
  return format === 'json' ? JSON.stringify(present, null, 2) : stringify(present).trimEnd()
}
