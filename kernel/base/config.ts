import { isIP, isIPv6 } from 'node:net'
import { type TObject, type TSchema, type TStringOptions, Type } from 'typebox'
import type { TLocalizedValidationError } from 'typebox/error'
import { Default, Errors } from 'typebox/value'
import { Fault, startupInvalid } from './errors.ts'
import { suggestion } from './suggestion.ts'

type Table = Record<string, unknown>

/** Returns where a key was set: file and line, variable or flag; null if unknown. Keys are dotted names. */
export type PlaceOf = (key: string) => string | null

/** An address to listen on: 'host:port', '[::1]:0'. */
export const ListenAddress = (options: TStringOptions) =>
  Type.Refine(
    Type.String(options),
    text => {
      const [, v6, host = '', port] = /^(?:\[([0-9a-fA-F:.]+)\]|([\w.-]+)):(0|[1-9]\d{0,4})$/.exec(text) ?? []
      const isHost = v6 === undefined ? isIP(host) === 4 || !/^[\d.]+$/.test(host) : isIPv6(v6)
      return Number(port) <= 65_535 && isHost && URL.canParse(`tcp://${text}`)
    },
    text =>
      `must be HOST:PORT, with a port from 0 to 65535 and IPv6 addresses in brackets, got ${JSON.stringify(text)}`
  )

/** Adds defaults and returns the problems: all unknown keys, and some for each key. `where` is a prefix for keys. */
export function validateConfig(
  { properties }: TObject,
  given: unknown,
  where: string,
  placeOf: PlaceOf = () => null
): { value: Table; problems: string[] } {
  const value = Default(Type.Object(properties), structuredClone(given ?? {})) as Table // an object schema makes an object
  if (typeof value !== 'object' || Array.isArray(value))
    return { value, problems: [`${where} must be object`] }
  const names = Object.keys(properties)
  const problems = [...new Set([...names, ...Object.keys(value)])].flatMap(name => {
    const own = Object.hasOwn(properties, name) ? { [name]: properties[name] as TSchema } : {}
    const hint = name in own ? '' : suggestion(name, names)
    const table = Object.hasOwn(value, name) ? { [name]: value[name] } : {}
    const errors = Errors(Type.Object(own, { additionalProperties: false }), table) // at most 8
    const byPath = Map.groupBy(errors, ({ instancePath }) => instancePath)
    return [...byPath].flatMap(([path, errors]) => {
      const at = [where, ...path.split('/').slice(1).map(tomlKey)].filter(part => part !== '').join('.')
      const found = errors.flatMap(error => problemsOf(at, error, errors, hint))
      return found.map(problem => atPlace(problem, placeOf))
    })
  })
  return { value, problems }
}

/** Converts a segment of a JSON pointer to a TOML key. */
function tomlKey(part: string): string {
  const key = part.replaceAll('~1', '/').replaceAll('~0', '~')
  return /^[\w-]*$/.test(key) ? key : JSON.stringify(key)
}

type Problem = { readonly key: string; readonly text: string }

/** Puts the place of the key, or of its table, before a problem. */
export function atPlace({ key, text }: Problem, placeOf: PlaceOf): string {
  for (let at = key; at !== ''; at = at.slice(0, Math.max(0, at.lastIndexOf('.')))) {
    const place = placeOf(at)
    if (place !== null) return `${place}: ${text}`
  }
  return text
}

/** Reports each problem once: TypeBox repeats unknown keys, and unions for each of their branches. */
function problemsOf(
  at: string,
  { keyword, message, params }: TLocalizedValidationError,
  all: readonly TLocalizedValidationError[],
  hint: string
): Problem[] {
  if (keyword === 'additionalProperties') return [] // the keys are `boolean` errors
  if (keyword === 'boolean') return [{ key: at, text: `unknown key ${at}${hint}` }]
  const choices = 'allowedValues' in params ? params.allowedValues : all.flatMap(allowedValue)
  if ((keyword === 'enum' || keyword === 'anyOf') && choices.length > 0)
    return [{ key: at, text: `${at} must be one of ${choices.join(', ')}` }]
  const isBranch = keyword !== 'anyOf' && all.some(other => other.keyword === 'anyOf')
  return isBranch ? [] : [{ key: at, text: `${at} ${message}` }]
}

const allowedValue = ({ params }: TLocalizedValidationError): unknown[] =>
  'allowedValue' in params ? [params.allowedValue] : []

/** Throws all problems as one Fault. */
export function throwProblems(problems: readonly string[]): void {
  if (problems.length > 0) throw new Fault(startupInvalid, problems.join('\n'))
}
