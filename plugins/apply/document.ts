// The file of `apply`, `export` and `diff`: rules, grants and quotas as one TOML or JSON document.
import { readFileSync } from 'node:fs'
import { parse as parseToml, stringify } from 'smol-toml'
import { Fault, invalidSchema } from '../../kernel/base/errors.ts'

export const kindNames = ['grants', 'quotas', 'rules'] as const
export type KindName = (typeof kindNames)[number]
export type Entry = Readonly<Record<string, unknown>>
/** What is not in it is not looked at. */
export type Document = { readonly [K in KindName]?: readonly Entry[] }

export function readDocument(file: string): Document {
  const document = parse(file)
  const problems = Object.entries(document).flatMap(([key, entries]) => {
    if (!kindNames.some(name => name === key)) return [`${key} is none of ${kindNames.join(', ')}`]
    const isList =
      Array.isArray(entries) && entries.every(entry => typeof entry === 'object' && entry !== null)
    return isList ? [] : [`${key} is a list of tables: write [[${key}]]`]
  })
  if (problems.length > 0) throw new Fault(invalidSchema, `${file}: ${problems.join('; ')}`)
  return document
}

function parse(file: string): Document {
  try {
    const text = readFileSync(file, 'utf8')
    return Object(/^\s*\{/.test(text) ? JSON.parse(text) : parseToml(text))
  } catch (cause) {
    const why = cause instanceof Error ? cause.message : String(cause)
    throw new Fault(invalidSchema, `${file} cannot be read: ${why}`, { cause })
  }
}

/** TOML has no null: what says nothing is left out, in both. */
export function formatDocument(document: Document, format: 'toml' | 'json'): string {
  const shown = withoutNull(document) as object
  return format === 'json' ? JSON.stringify(shown, null, 2) : stringify(shown).trimEnd()
}

export function withoutNull(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(withoutNull)
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(
    Object.entries(value).flatMap(([key, part]) => (part === null ? [] : [[key, withoutNull(part)]]))
  )
}
