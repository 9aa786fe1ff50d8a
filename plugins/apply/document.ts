// The file of `apply`, `export` and `diff`: one TOML or JSON document with a list of entries for each kind.
import { parse as parseToml, stringify } from 'smol-toml'
import { Fault, invalidSchema } from '../../kernel/base/errors.ts'
import { readText } from '../../kernel/base/read-text.ts'
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
export function readDocument(file: string, kinds: readonly string[]): DocumentFile {
  const properties = Object.entries(parse(file))
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

function parse(file: string): object {
  try {
    const text = readText(file === '-' ? 0 : file)
    return Object(
      JSON.parse(/^\s*\{/.test(text) ? text : JSON.stringify(parseToml(text), stringifyNonFinite))
    )
  } catch (cause) {
    const why = cause instanceof Error ? cause.message : String(cause)
    throw new Fault(invalidSchema, `${file} cannot be read: ${why}`, { cause })
  }
}

/** Turns numbers that JSON lacks into text. Times of TOML become text anyway. */
const stringifyNonFinite = (_: string, value: unknown): unknown =>
  typeof value === 'number' && !Number.isFinite(value) ? String(value) : value

/** Omits null properties in both formats, because TOML has no null. */
export function formatDocument(document: Document, format: 'toml' | 'json'): string {
  const present = withoutNull(document) as object
  return format === 'json' ? JSON.stringify(present, null, 2) : stringify(present).trimEnd()
}
