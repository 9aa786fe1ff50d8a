// Reads configuration from a TOML file, environment variables and flags. A value in any but its exact form stays text, and
// the validation refuses it.
import { parse } from 'smol-toml'
import type { TObject, TSchema } from 'typebox'
import { atPlace, type PlaceOf, throwProblems } from '../base/config.ts'
import { Fault, reasonOf, startupInvalid } from '../base/errors.ts'
import { readText } from '../base/read-text.ts'
import { exactValue } from './exact-value.ts'
import { pathFromFlag, pathProblem } from './path-problem.ts'
import { secretProblem, tokenProblem } from './secret-problem.ts'

type Table = Readonly<Record<string, unknown>>
type Env = Readonly<Record<string, string | undefined>>

/** A parsed TOML file. */
export interface ConfigFile {
  readonly path: string
  readonly table: Table
  readonly placeOf: PlaceOf // file and line
}

interface Sources {
  readonly file: ConfigFile | null
  readonly env: Env
  readonly flags: Table
  /** Prefixes of environment variables, the strongest first; default 'SVC_'. */
  readonly prefixes?: readonly string[]
}

interface GivenKeys {
  readonly table: Table
  readonly placeOf: PlaceOf // file and line, variable or flag
}

/** Reads a file. Throws 'startup.config_invalid' with the file and the line. */
export function readConfigFile(path: string): ConfigFile {
  try {
    const text = readText(path)
    const lines = linesByKey(text)
    const placeOf: PlaceOf = key => {
      const line = lines.get(key)
      return line === undefined ? null : `${path}:${line}`
    }
    return { path, table: parse(text), placeOf }
  } catch (cause) {
    throw new Fault(startupInvalid, `${path}: ${reasonOf(cause)}`, { cause })
  }
}

/**
 * Flags override variables, which override the file. An empty variable or flag is unset. Throws Fault for a text that its
 * author cannot mean: a schema has `isPath`, `isSecret` or `isToken`.
 */
export function readKeys(schema: TObject, { file, env, flags, prefixes = ['SVC_'] }: Sources): GivenKeys {
  const table: Record<string, unknown> = { ...file?.table }
  const places = new Map<string, string>()
  for (const [key, property] of Object.entries(schema.properties)) {
    const name = prefixes.map(prefix => prefix + key.toUpperCase()).find(variable => env[variable])
    if (name !== undefined) {
      table[key] = valueFrom(property, env[name] ?? '')
      places.set(key, name)
    }
    const flag = flags[key]
    if (flag !== undefined && flag !== '') {
      table[key] = 'isPath' in property ? pathFromFlag(String(flag)) : flag
      places.set(key, `--${key.replaceAll('_', '-')}`)
    }
  }
  const placeOf: PlaceOf = key => places.get(key) ?? file?.placeOf(key) ?? null
  const problems = Object.entries(schema.properties).flatMap(([key, property]) => {
    const problem = problemOf(property, table[key])
    return problem === null ? [] : [atPlace({ key, text: `${key} ${problem}` }, placeOf)]
  })
  throwProblems(problems)
  return { table, placeOf }
}

function problemOf(schema: TSchema, text: unknown): string | null {
  if (typeof text !== 'string') return null
  if ('isPath' in schema) return pathProblem(text)
  if ('isToken' in schema) return tokenProblem(text)
  return 'isSecret' in schema ? secretProblem(text) : null
}

/** Items of lists are separated by commas. */
const valueFrom = (schema: TSchema, text: string): unknown =>
  'items' in schema
    ? text
        .split(',')
        .filter(part => part !== '')
        .map(part => exactValue(schema.items as TSchema, part.trim()))
    : exactValue(schema, text)

/** Returns line numbers by dotted key. Finds only keys at the start of a line. */
function linesByKey(text: string): Map<string, number> {
  const lines = new Map<string, number>()
  let table = ''
  for (const [at, line] of text.split('\n').entries()) {
    const [, header, key] =
      /^\s*(?:\[\[?([^\]]+)\]|((?:[\w.-]|"[^"]*"|'[^']*'|\s+(?=[.=]))+)=)/.exec(line) ?? []
    if (header !== undefined) table = dotted(header)
    const name = key === undefined ? table : table === '' ? dotted(key) : `${table}.${dotted(key)}`
    if ((header ?? key) !== undefined && !lines.has(name)) lines.set(name, at + 1)
  }
  return lines
}

/** Normalizes a key: removes spaces and needless quotes. */
const dotted = (key: string): string =>
  [...key.matchAll(/"([^"]*)"|'([^']*)'|([\w-]+)/g)]
    .map(([, double, single, bare]) => double ?? single ?? bare ?? '')
    .map(part => (/^[\w-]*$/.test(part) ? part : JSON.stringify(part)))
    .join('.')
