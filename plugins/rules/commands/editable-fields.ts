// Reads from the server's OpenAPI document which properties of a rule can change, with those that plugins add.
import { Fault, wrongUsage } from '../../../kernel/base/errors.ts'
import type { Api } from '../../../kernel/cli/command.ts'
import { exactValue } from '../../../kernel/platform/exact-value.ts'
import { parseQuantity, unitOf } from '../../http/command-exports.ts'
import { parseTarget, type TargetProperty } from './request-parts.ts'

/** The JSON Schema keywords that decide how text is parsed. */
interface Schema {
  readonly $ref?: string
  readonly type?: string
  readonly readOnly?: boolean
  readonly anyOf?: readonly Schema[]
  readonly properties?: Readonly<Record<string, Schema>>
  readonly additionalProperties?: Schema | boolean
  readonly items?: Schema
}

interface Document {
  readonly components: { readonly schemas: Readonly<Record<string, Schema>> }
}

export interface EditableFields {
  readonly keys: readonly string[]
  readonly targetKeys: readonly string[] // properties of a target that can change
  readonly toTargetProperty: TargetProperty
  /** Returns the merge patch of assignments such as `rate_limit.concurrent_connections=5`. */
  toPatch(assignments: readonly string[]): Readonly<Record<string, unknown>>
}

/** Throws if the server has no OpenAPI document. */
export async function loadEditableFields(api: Api): Promise<EditableFields> {
  const { components } = await api.get<Document>('/v1/openapi.json').catch((error: unknown) => {
    if (!(error instanceof Fault) || error.errorCode.http !== 404) throw error
    const why = 'the server does not describe its rules: enable the plugin openapi'
    throw new Fault(error.errorCode, why, { cause: error })
  })
  const { schemas } = components
  const patch = schemas['RulePatch'] ?? {}
  const resolve: Resolve = schema => resolved(schema, schemas)
  const target = targetIn(patch, resolve)
  return {
    keys: changeableIn(patch),
    targetKeys: changeableIn(target),
    toTargetProperty: (key, text) => toProperty(target, resolve, key, text),
    toPatch: assignments => toPatch(assignments, resolve, patch)
  }
}

const changeableIn = ({ properties = {} }: Schema): string[] =>
  Object.entries(properties).flatMap(([key, { readOnly }]) => (readOnly ? [] : [key]))

const targetIn = ({ properties = {} }: Schema, resolve: Resolve): Schema =>
  resolve(resolve(properties['targets'] ?? {}).items ?? {})

const toProperty = (target: Schema, resolve: Resolve, key: string, text: string): unknown =>
  toValue(resolve(target.properties?.[key] ?? {}), key, text, { schema: target, resolve })

type Resolve = (schema: Schema) => Schema

/** Follows references, and unwraps nullable schemas. */
function resolved(schema: Schema, schemas: Document['components']['schemas']): Schema {
  if (schema.$ref) return resolved(schemas[schema.$ref.split('/').at(-1) ?? ''] ?? {}, schemas)
  const options = (schema.anyOf ?? []).filter(({ type }) => type !== 'null')
  const [only] = options
  return only && options.length === 1 ? resolved(only, schemas) : schema
}

function toPatch(assignments: readonly string[], resolve: Resolve, schema: Schema) {
  const patch = {}
  for (const text of assignments) {
    const at = text.indexOf('=')
    if (at < 1) throw new Fault(wrongUsage, `${text} is not key=value`)
    assign(patch, text.slice(0, at), text.slice(at + 1), { schema, resolve })
  }
  return patch
}

interface SchemaPlace {
  readonly schema: Schema
  readonly resolve: Resolve
}

/** Sends unknown keys as they are: the server names them in its error, with the nearest known name. */
function assign(
  patch: Record<string, unknown>,
  path: string,
  text: string,
  { schema, resolve }: SchemaPlace
): void {
  const { properties = {}, additionalProperties: others } = schema
  // Keys of a map, such as labels, may have dots.
  const [key = '', ...rest] = typeof others === 'object' ? [path] : path.split('.')
  const value = resolve(properties[key] ?? (typeof others === 'object' ? others : {}))
  if (rest.length === 0) {
    patch[key] = text === '' ? null : toValue(value, key, text, { schema, resolve })
    return
  }
  const inner = Object(patch[key] ?? {})
  patch[key] = inner
  assign(inner, rest.join('.'), text, { schema: value, resolve })
}

/** True for a value such as `via`: one text, or several. */
const isTextOrList = ({ anyOf = [] }: Schema): boolean =>
  anyOf.some(({ type }) => type === 'string') &&
  anyOf.some(({ type, items }) => type === 'array' && items?.type === 'string')

function toValue(value: Schema, key: string, text: string, { schema, resolve }: SchemaPlace): unknown {
  const { type } = value
  if (isTextOrList(value) && !text.startsWith('[')) return text.split(',').map(part => part.trim())
  if (key === 'targets' && !text.startsWith('[')) {
    const target = targetIn(schema, resolve)
    return text
      .split(',')
      .map(one => parseTarget(one, (key, value) => toProperty(target, resolve, key, value)))
  }
  const unit = type === 'integer' ? unitOf(key) : null
  if (unit !== null) return parseQuantity(text, unit) ?? exactValue({ type }, text)
  if (type === 'string' || type === 'integer' || type === 'boolean') return exactValue({ type }, text)
  try {
    return JSON.parse(text)
  } catch {
    return text // such as a word of an enum; the server validates it
  }
}
