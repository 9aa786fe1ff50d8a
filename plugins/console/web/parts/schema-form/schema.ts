// JSON Schema as the OpenAPI document of the server has it, and what a form makes of it.

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
  /** Of a rule field: what an agent must be capable of. */
  readonly 'x-requires'?: { readonly id: string; readonly since: string }
}

/** The part of the document that is read here. */
export interface Schemas {
  readonly [name: string]: Schema
}

/** Returns the schema that `schema` stands for: without the alternative null, and what is behind a reference. */
export function settled(schema: Schema, schemas: Schemas): Schema {
  if (schema.$ref !== undefined) {
    const { $ref, ...rest } = schema
    return { ...settled(schemas[$ref.split('/').at(-1) ?? ''] ?? {}, schemas), ...rest }
  }
  const { anyOf, ...rest } = schema
  const real = anyOf?.filter(({ type }) => type !== 'null') ?? []
  const [only] = real
  if (real.length !== 1 || !only) return schema
  return { ...settled(only, schemas), ...rest }
}

/** `json`: nothing better is known of it. */
export type Kind = 'boolean' | 'choice' | 'number' | 'time' | 'text' | 'texts' | 'map' | 'object' | 'json'

export function kindOf({
  type,
  enum: choices,
  format,
  items,
  properties,
  additionalProperties
}: Schema): Kind {
  if (type === 'boolean') return 'boolean'
  if (choices) return 'choice'
  if (type === 'integer' || type === 'number') return 'number'
  if (type === 'string') return format === 'date-time' ? 'time' : 'text'
  if (type === 'array') return items?.type === 'string' && !items.enum ? 'texts' : 'json'
  if (type === 'object' && properties) return 'object'
  if (typeof additionalProperties === 'object' && additionalProperties.type === 'string') return 'map'
  return 'json'
}

/** 'slow_start_secs' is 'Slow start secs', where the schema has no title. */
export const titleOf = (key: string, { title }: Schema): string =>
  title ?? key.slice(0, 1).toUpperCase() + key.slice(1).replaceAll('_', ' ')

/** 'bandwidth_in_bps' is 'bit/s': names of the API end with their unit. */
export function unitOf(key: string): string | undefined {
  const [, end = ''] = /_([a-z]+)$/.exec(key) ?? []
  return { bps: 'bit/s', secs: 's', ms: 'ms', bytes: 'B' }[end]
}
