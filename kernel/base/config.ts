import { readFileSync, statSync } from 'node:fs'
import { parse } from 'smol-toml'
import { type TObject, type TSchema, Type } from 'typebox'
import type { TLocalizedValidationError } from 'typebox/error'
import { Settings } from 'typebox/system'
import { Convert, Default, Errors } from 'typebox/value'
import { Fault, insecurePermissions, reasonOf, startupInvalid } from './errors.ts'

Settings.Set({ maxErrors: 64 }) // the default of 8 would hide the ninth problem of a configuration

type Table = Record<string, unknown>

export interface ConfigSources {
  readonly file: string | null
  readonly env: Readonly<Record<string, string | undefined>>
  readonly flags: Readonly<Table>
}

/** The file as a table, `SVC_<KEY>` over it, flags over both. Values are not checked yet: see `settle`. */
export function readConfig(schema: TObject, { file, env, flags }: ConfigSources): Table {
  const table: Table = { ...(file === null ? {} : parseFile(file)) }
  for (const [key, property] of Object.entries(schema.properties)) {
    const given = env[`SVC_${key.toUpperCase()}`]
    if (given !== undefined) table[key] = fromText(property, given)
    if (flags[key] !== undefined) table[key] = flags[key]
  }
  return table
}

/** Secrets must not lie where others read them. */
export function requirePrivateFile(file: string, what: string): void {
  if (process.platform !== 'win32' && (statSync(file).mode & 0o077) !== 0)
    throw new Fault(
      insecurePermissions,
      `${file} holds ${what} and others may read it; run: chmod 600 ${file}`
    )
}

/** A key of which only the environment's text is known: lists by comma, numbers and booleans by their look. */
const fromText = (schema: TSchema, text: string): unknown =>
  Convert(schema, Type.IsArray(schema) ? text.split(',').filter(part => part !== '') : text)

export function parseFile(file: string): Table {
  try {
    return parse(readFileSync(file, 'utf8'))
  } catch (cause) {
    throw new Fault(startupInvalid, `${file}: ${reasonOf(cause)}`, { cause })
  }
}

/** Defaults put in, and every problem found: what is unknown, with the nearest name, and what is of another form. */
export function validateConfig(
  schema: TObject,
  given: unknown,
  where: string
): { value: Table; problems: string[] } {
  const closed = Type.Object(schema.properties, { additionalProperties: false })
  const value = Default(closed, structuredClone(given ?? {})) as Table // an object schema makes an object
  const byPlace = Map.groupBy(Errors(closed, value), ({ instancePath }) => instancePath)
  const problems = [...byPlace].flatMap(([path, errors]) => {
    const at = [where, ...path.split('/').slice(1).map(asWritten)].filter(part => part !== '').join('.')
    return errors.flatMap(error => complain(at, error, errors, schema))
  })
  return { value, problems }
}

/** A part of a JSON pointer, as TOML spells a key. */
function asWritten(part: string): string {
  const key = part.replaceAll('~1', '/').replaceAll('~0', '~')
  return /^[\w-]*$/.test(key) ? key : JSON.stringify(key)
}

/** One line a problem: TypeBox says an unknown key twice, and a union once more for each of its branches. */
function complain(
  at: string,
  { keyword, message, params }: TLocalizedValidationError,
  all: readonly TLocalizedValidationError[],
  schema: TObject
): string[] {
  if (keyword === 'additionalProperties')
    return params.additionalProperties.map(
      key => `${at === '' ? '' : `${at}.`}${key} is no key${hint(key, schema)}`
    )
  if (keyword === 'boolean') return []
  if (keyword === 'enum') return [`${at} must be one of ${params.allowedValues.join(', ')}`]
  const allowed = all.flatMap(({ params }) => ('allowedValue' in params ? [String(params.allowedValue)] : []))
  if (keyword === 'anyOf' && allowed.length > 0) return [`${at} must be one of ${allowed.join(', ')}`]
  const isBranch = keyword !== 'anyOf' && all.some(other => other.keyword === 'anyOf')
  return isBranch ? [] : [`${at} ${message}`]
}

const hint = (key: string, { properties }: TObject): string => {
  const near = closestName(key, Object.keys(properties))
  return near === null ? '' : `; did you mean ${near}?`
}

/** The name that is fewest edits away, when that is few enough to be a slip. */
export function closestName(word: string, names: readonly string[]): string | null {
  const [best] = names
    .map(name => ({ name, edits: editsBetween(word, name) }))
    .sort((a, b) => a.edits - b.edits)
  return best && best.edits <= Math.max(2, word.length / 3) ? best.name : null
}

/** Levenshtein's distance, a row at a time. */
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

/** Throws all of them together. */
export function throwProblems(problems: readonly string[]): void {
  if (problems.length > 0) throw new Fault(startupInvalid, problems.join('\n'))
}
