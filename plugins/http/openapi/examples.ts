// Examples of bodies, composed from examples of their properties.
import type { JsonSchema } from './schemas.ts'

/**
 * Returns an example. For 'request', it omits optional properties without an example; for 'reply', it has all properties.
 * The schema must have no references.
 */
export function exampleOf(schema: JsonSchema, of: 'request' | 'reply'): unknown {
  const { examples, type, properties, items, anyOf, allOf } = schema
  if (examples?.length) return examples[0]
  for (const keyword of ['const', 'default']) if (keyword in schema) return schema[keyword]
  if (Array.isArray(schema['enum'])) return schema['enum'][0]
  const [first, ...others] = allOf ?? anyOf ?? []
  if (first && allOf) return Object.assign({}, ...allOf.map(part => exampleOf(part, of)))
  if (first) return exampleOf(first.type === 'null' && others[0] ? others[0] : first, of)
  if (properties) return exampleOfObject(schema, of)
  if (type === 'array') return items ? [exampleOf(items, of)] : []
  if (type === 'object') return {}
  if (type === 'integer' || type === 'number') return schema['minimum'] ?? 0
  if (type === 'boolean') return true
  if (type === 'null') return null
  return 'text'.padEnd(Number(schema['minLength'] ?? 0), 'x').slice(0, Number(schema['maxLength'] ?? 4))
}

function exampleOfObject({ properties = {}, required = [] }: JsonSchema, of: 'request' | 'reply'): object {
  const shown = Object.entries(properties).filter(
    ([key, part]) => of === 'reply' || required.includes(key) || hasExample(part)
  )
  return Object.fromEntries(shown.map(([key, part]) => [key, exampleOf(part, of)]))
}

const hasExample = ({ examples, anyOf = [] }: JsonSchema): boolean =>
  examples !== undefined || anyOf.some(hasExample)
