// JSON Schema of the OpenAPI document, and the form control for it.

export interface Schema {
  readonly $ref?: string
  readonly type?: string
  readonly title?: string
  readonly description?: string
  readonly enum?: readonly unknown[]
  readonly format?: string
  readonly minimum?: number
  readonly maximum?: number
  readonly maxLength?: number
  readonly maxItems?: number
  readonly default?: unknown
  readonly examples?: readonly unknown[]
  readonly properties?: Readonly<Record<string, Schema>>
  readonly required?: readonly string[]
  readonly additionalProperties?: Schema | boolean
  readonly items?: Schema
  readonly anyOf?: readonly Schema[]
  readonly readOnly?: boolean
  /** On a rule field: the capability that an agent needs for it. */
  readonly 'x-requires'?: { readonly id: string; readonly since: string }
}

/** Named schemas of the OpenAPI document. */
export interface Schemas {
  readonly [name: string]: Schema
}

/** Resolves references and removes the alternative `null`. */
export function resolveSchema(schema: Schema, schemas: Schemas): Schema {
  if (schema.$ref !== undefined) {
    const { $ref, ...rest } = schema
    return { ...resolveSchema(schemas[$ref.split('/').at(-1) ?? ''] ?? {}, schemas), ...rest }
  }
  const { anyOf, ...rest } = schema
  const real = anyOf?.filter(({ type }) => type !== 'null') ?? []
  const [only] = real
  if (real.length !== 1 || !only) return schema
  return { ...resolveSchema(only, schemas), ...rest }
}

/** `json` is the fallback. */
type ControlKind = 'boolean' | 'choice' | 'number' | 'time' | 'text' | 'texts' | 'map' | 'object' | 'json'

export function controlKind({
  type,
  enum: choices,
  format,
  items,
  properties,
  additionalProperties
}: Schema): ControlKind {
  if (type === 'boolean') return 'boolean'
  if (choices) return 'choice'
  if (type === 'integer' || type === 'number') return 'number'
  if (type === 'string') return format === 'date-time' ? 'time' : 'text'
  if (type === 'array') return items?.type === 'string' && !items.enum ? 'texts' : 'json'
  if (type === 'object' && properties) return 'object'
  if (typeof additionalProperties === 'object' && additionalProperties.type === 'string') return 'map'
  return 'json'
}

/** Returns the title of the schema, or one from the key: 'slow_start_secs' becomes 'Slow start secs'. */
export const titleOf = (key: string, { title }: Schema): string =>
  title ?? key.slice(0, 1).toUpperCase() + key.slice(1).replaceAll('_', ' ')

/** Returns the unit in the name of an API field: 'bit/s' for 'bandwidth_in_bps'. */
export function unitOf(key: string): string | undefined {
  const [, end = ''] = /_([a-z]+)$/.exec(key) ?? []
  return { bps: 'bit/s', secs: 's', ms: 'ms', bytes: 'B' }[end]
}
