// Schemas of the document. OpenAPI 3.1 accepts JSON Schema; named schemas become references.
import type { TSchema } from 'typebox'

/** The parts of JSON Schema that the document changes. */
export interface JsonSchema {
  readonly [keyword: string]: unknown
  readonly $id?: string
  readonly $ref?: string
  readonly type?: string
  readonly properties?: Readonly<Record<string, JsonSchema>>
  readonly required?: readonly string[]
  readonly patternProperties?: Readonly<Record<string, JsonSchema>>
  readonly additionalProperties?: JsonSchema | boolean
  readonly items?: JsonSchema
  readonly anyOf?: readonly JsonSchema[]
  readonly allOf?: readonly JsonSchema[]
  readonly description?: string
  readonly examples?: readonly unknown[]
}

/** Views a schema as JSON Schema, without a copy. TypeBox adds only hidden members and functions. */
export const asJsonSchema = (schema: TSchema): JsonSchema => schema as JsonSchema

/** Copies a schema for the document, without members that JSON lacks. */
export const jsonOf = (schema: TSchema): JsonSchema => JSON.parse(JSON.stringify(schema)) as JsonSchema

export const refTo = (name: string): JsonSchema => ({ $ref: `#/components/schemas/${name}` })

/** Converts 'rule.stats-stream' to 'RuleStatsStream'. */
export const pascalCase = (text: string): string =>
  text
    .split(/[^A-Za-z0-9]+/)
    .map(word => word.slice(0, 1).toUpperCase() + word.slice(1))
    .join('')

/** Collects the named schemas of a document. */
export interface NamedSchemas {
  /** Returns the schema of a plugin, with references instead of its named parts. */
  shown(plugin: string, schema: JsonSchema): JsonSchema
  /** Returns a reference. If another plugin has the name, it is prefixed with the plugin's name. */
  name(wanted: string, plugin: string, schema: JsonSchema): JsonSchema
  all(): Record<string, JsonSchema>
}

export function openNamedSchemas(): NamedSchemas {
  const named = new Map<
    string,
    { readonly plugin: string; readonly text: string; readonly schema: JsonSchema }
  >()

  function name(wanted: string, plugin: string, schema: JsonSchema): JsonSchema {
    const text = JSON.stringify(schema)
    for (const free of [wanted, `${pascalCase(plugin)}${wanted}`]) {
      const found = named.get(free)
      if (!found) named.set(free, { plugin, text, schema })
      if (!found || found.text === text) return refTo(free)
      if (found.plugin === plugin)
        throw new TypeError(`${plugin} gives the $id ${JSON.stringify(wanted)} to two different schemas`)
    }
    throw new TypeError(`${plugin} gives the $id ${JSON.stringify(wanted)} to a schema; others have taken it`)
  }

  function shown(plugin: string, schema: JsonSchema): JsonSchema {
    const inner = (part: JsonSchema) => shown(plugin, part)
    // `code` is for the validator only
    const {
      $id,
      code: _,
      properties,
      patternProperties,
      additionalProperties,
      items,
      anyOf,
      allOf,
      ...rest
    } = schema
    const own: JsonSchema = {
      ...rest,
      ...(properties && { properties: mapped(properties, inner) }),
      ...mapOf(patternProperties, additionalProperties, inner),
      ...(items && { items: inner(items) }),
      ...(anyOf && alternatives(anyOf, rest, inner)),
      ...(allOf && { allOf: allOf.map(inner) })
    }
    return $id === undefined ? own : name($id, plugin, own)
  }

  return {
    shown,
    name,
    all: () =>
      Object.fromEntries(
        [...named].sort(([a], [b]) => (a < b ? -1 : 1)).map(([key, { schema }]) => [key, schema])
      )
  }
}

const mapped = (parts: Readonly<Record<string, JsonSchema>>, inner: (part: JsonSchema) => JsonSchema) =>
  Object.fromEntries(Object.entries(parts).map(([key, part]) => [key, inner(part)]))

/** Uses `additionalProperties` for records with any keys: client generators expect it. */
function mapOf(
  patterns: JsonSchema['patternProperties'],
  others: JsonSchema['additionalProperties'],
  inner: (part: JsonSchema) => JsonSchema
): JsonSchema {
  const entries = Object.entries(patterns ?? {})
  const [pattern, values] = entries[0] ?? ['']
  if (values && entries.length === 1 && others === undefined && ['^.*$', '^(.*)$'].includes(pattern))
    return { additionalProperties: inner(values) }
  return {
    ...(patterns && { patternProperties: mapped(patterns, inner) }),
    ...(others !== undefined && { additionalProperties: typeof others === 'object' ? inner(others) : others })
  }
}

/** Converts constants to an `enum`, and moves the description of a nullable value out of the alternative. */
function alternatives(
  anyOf: readonly JsonSchema[],
  rest: JsonSchema,
  inner: (part: JsonSchema) => JsonSchema
): JsonSchema {
  const types = new Set(anyOf.map(({ type }) => type))
  if (anyOf.every(part => 'const' in part || part.type === 'null'))
    return {
      type: types.size === 1 ? [...types][0] : [...types],
      enum: anyOf.map(part => ('const' in part ? part['const'] : null))
    } as JsonSchema
  const [first, second, ...more] = anyOf
  if (first?.description === undefined || first.$id || second?.type !== 'null' || more.length > 0)
    return { anyOf: anyOf.map(inner) }
  const { description, ...bare } = first
  return { anyOf: [inner(bare), inner(second)], description: rest.description ?? description }
}
