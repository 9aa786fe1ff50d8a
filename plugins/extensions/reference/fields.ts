// Describes the fields of a schema: type with bounds, default and description.

/** The JSON Schema that TypeBox and OpenAPI produce. */
export interface Schema {
  readonly type?: string
  readonly description?: string
  readonly default?: unknown
  readonly const?: unknown
  readonly enum?: readonly unknown[] // OpenAPI's form of a const
  readonly anyOf?: readonly Schema[]
  readonly items?: Schema
  readonly properties?: Readonly<Record<string, Schema>>
  readonly required?: readonly string[]
  readonly patternProperties?: Readonly<Record<string, Schema>>
  readonly additionalProperties?: Schema | boolean
  readonly minimum?: number
  readonly maximum?: number
  readonly minLength?: number
  readonly maxLength?: number
  readonly minItems?: number
  readonly maxItems?: number
  readonly pattern?: string
  readonly format?: string
}

export interface Field {
  readonly path: string // 'targets[].host'
  readonly type: string // 'integer, 1 to 65535'
  readonly given: string // 'required', 'default `5`', 'optional'
  readonly description: string
}

/** Returns the fields of an object or of the items of an array, at every depth. */
export function fieldsOf(schema: Schema, at = ''): Field[] {
  const inner = innerOf(schema)
  const under = (key: string): string => `${at}${at === '' ? '' : '.'}${key}`
  const own = Object.entries(inner.properties ?? {}).flatMap(([key, part]) => [
    fieldOf({ path: under(key), part, isRequired: inner.required?.includes(key) === true }),
    ...fieldsOf(part, `${under(key)}${isList(part) ? '[]' : ''}`)
  ])
  const named = mapValuesOf(inner).flatMap(part => fieldsOf(part, under('<name>')))
  return [...own, ...named]
}

interface Part {
  readonly path: string
  readonly part: Schema
  readonly isRequired: boolean
}

export const fieldOf = ({ path, part, isRequired }: Part): Field => ({
  path,
  type: typeOf(part),
  given:
    part.default !== undefined ? `default ${literal(part.default)}` : isRequired ? 'required' : 'optional',
  description: part.description ?? part.anyOf?.find(one => one.description)?.description ?? ''
})

/** Returns 'integer, 1 to 65535', 'list of string, 1 to 8 entries', '`"tcp"` or `"udp"`' or 'string or null'. */
export function typeOf(schema: Schema): string {
  if (schema.const !== undefined) return literal(schema.const)
  if (schema.enum) return schema.enum.map(literal).join(' or ')
  if (schema.anyOf) return schema.anyOf.map(typeOf).join(' or ')
  if (schema.items)
    return `list of ${typeOf(schema.items)}${range(schema.minItems, schema.maxItems, ' entries')}`
  const [values] = mapValuesOf(schema)
  if (values) return `map to ${typeOf(values)}`
  const { type = 'any', format, pattern } = schema
  return [
    format === undefined ? type : `${type} (${format})`,
    range(schema.minimum, schema.maximum === Number.MAX_SAFE_INTEGER ? undefined : schema.maximum),
    range(schema.minLength, schema.maxLength, ' characters'),
    pattern === undefined ? '' : `, \`${pattern}\``
  ].join('')
}

const literal = (value: unknown): string => `\`${JSON.stringify(value)}\``

function range(min: number | undefined, max: number | undefined, unit = ''): string {
  if (min === undefined && max === undefined) return ''
  if (max === undefined) return `, at least ${min}${unit}`
  if (min === undefined) return `, at most ${max}${unit}`
  return min === max ? `, ${min}${unit}` : `, ${min} to ${max}${unit}`
}

/** Returns the schema with the fields: the object, the items of a list, or one of the alternatives. */
function innerOf(schema: Schema): Schema {
  if (schema.items) return innerOf(schema.items)
  return schema.anyOf?.map(innerOf).find(one => one.properties) ?? schema
}

/** Returns the schemas of values in a map: TypeBox uses patterns, OpenAPI `additionalProperties`. */
const mapValuesOf = ({ patternProperties = {}, additionalProperties: others }: Schema): Schema[] => [
  ...Object.values(patternProperties),
  ...(typeof others === 'object' ? [others] : [])
]

const isList = (schema: Schema): boolean => schema.items !== undefined || schema.anyOf?.some(isList) === true
