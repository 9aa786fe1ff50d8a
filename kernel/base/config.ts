import { readFileSync, statSync } from 'node:fs'
import { parse } from 'smol-toml'
import { type TObject, type TSchema, Type } from 'typebox'
import type { TLocalizedValidationError } from 'typebox/error'
import { Settings } from 'typebox/system'
import { Convert, Default, Errors } from 'typebox/value'
import { Fault, insecurePermissions, reasonOf, startupInvalid } from './errors.ts'

Settings.Set({ maxErrors: 64 }) // at the default of 8 a configuration's ninth problem would be lost

type Table = Record<string, unknown>

export interface ConfigSources {
  readonly file: string | null
  readonly env: Readonly<Record<string, string | undefined>>
  readonly flags: Readonly<Table>
}

/** Reads the file; `SVC_<KEY>` overrides a key, flags override both. `validateConfig` checks the values later. */
export function readConfig(schema: TObject, { file, env, flags }: ConfigSources): Table {
  const table: Table = { ...(file === null ? {} : parseFile(file)) }
  for (const [key, property] of Object.entries(schema.properties)) {
    const given = env[`SVC_${key.toUpperCase()}`]
    if (given !== undefined) table[key] = parseText(property, given)
    if (flags[key] !== undefined) table[key] = flags[key]
  }
  return table
}

/** Throws when other users may read a file with secrets. */
export function requirePrivateFile(file: string, what: string): void {
  if (process.platform !== 'win32' && (statSync(file).mode & 0o077) !== 0)
    throw new Fault(
      insecurePermissions,
      `${file} holds ${what} and others may read it; run: chmod 600 ${file}`
    )
}

/** Parses the text of an environment variable: lists are separated by commas. */
const parseText = (schema: TSchema, text: string): unknown =>
  Convert(schema, Type.IsArray(schema) ? text.split(',').filter(part => part !== '') : text)

export function parseFile(file: string): Table {
  try {
    return parse(readFileSync(file, 'utf8'))
  } catch (cause) {
    throw new Fault(startupInvalid, `${file}: ${reasonOf(cause)}`, { cause })
  }
}

/** Adds defaults and finds all problems: unknown keys, with the closest name, and invalid values. `where` prefixes keys. */
export function validateConfig(
  schema: TObject,
  given: unknown,
  where: string
): { value: Table; problems: string[] } {
  const closed = Type.Object(schema.properties, { additionalProperties: false })
  const value = Default(closed, structuredClone(given ?? {})) as Table // an object schema makes an object
  const byPath = Map.groupBy(Errors(closed, value), ({ instancePath }) => instancePath)
  const problems = [...byPath].flatMap(([path, errors]) => {
    const at = [where, ...path.split('/').slice(1).map(tomlKey)].filter(part => part !== '').join('.')
    return errors.flatMap(error => problemsOf(at, error, errors, schema))
  })
  return { value, problems }
}

/** Converts a part of a JSON pointer to a TOML key. */
function tomlKey(part: string): string {
  const key = part.replaceAll('~1', '/').replaceAll('~0', '~')
  return /^[\w-]*$/.test(key) ? key : JSON.stringify(key)
}

/** One line for each problem: TypeBox reports an unknown key twice, and a union once more for each of its branches. */
function problemsOf(
  at: string,
  { keyword, message, params }: TLocalizedValidationError,
  all: readonly TLocalizedValidationError[],
  schema: TObject
): string[] {
  if (keyword === 'additionalProperties')
    return params.additionalProperties.map(
      key => `unknown key ${at === '' ? '' : `${at}.`}${key}${suggestion(key, schema)}`
    )
  if (keyword === 'boolean') return []
  if (keyword === 'enum') return [`${at} must be one of ${params.allowedValues.join(', ')}`]
  const allowed = all.flatMap(({ params }) => ('allowedValue' in params ? [String(params.allowedValue)] : []))
  if (keyword === 'anyOf' && allowed.length > 0) return [`${at} must be one of ${allowed.join(', ')}`]
  const isBranch = keyword !== 'anyOf' && all.some(other => other.keyword === 'anyOf')
  return isBranch ? [] : [`${at} ${message}`]
}

const suggestion = (key: string, { properties }: TObject): string => {
  const name = closestName(key, Object.keys(properties))
  return name === null ? '' : `; did you mean ${name}?`
}

/** Returns the name with the fewest edits, or null when none is close enough to be a typo. */
export function closestName(word: string, names: readonly string[]): string | null {
  const [best] = names
    .map(name => ({ name, edits: editsBetween(word, name) }))
    .sort((a, b) => a.edits - b.edits)
  return best && best.edits <= Math.max(2, word.length / 3) ? best.name : null
}

/** Levenshtein distance. */
function editsBetween(a: string, b: string): number {
  let row = Array.from({ length: b.length + 1 }, (_, i) => i)
  for (const [i, char] of [...a].entries()) {
    const next = [i + 1]
    for (let j = 0; j < b.length; j++)
      next.push(Math.min((row[j + 1] ?? 0) + 1, (next[j] ?? 0) + 1, (row[j] ?? 0) + Number(b[j] !== char)))
    row = next
  }
  return row.at(-1) ?? 0
}

/** Throws all problems as one Fault. */
export function throwProblems(problems: readonly string[]): void {
  if (problems.length > 0) throw new Fault(startupInvalid, problems.join('\n'))
}
