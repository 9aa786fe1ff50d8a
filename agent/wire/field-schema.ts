// Builds schemas of rule fields without loading TypeBox: the command line also reads declarations and must start fast.
import type { Type as TypeBox } from 'typebox'

type Schema = Readonly<Record<string, unknown>>

/** Adds the markers that TypeBox uses to recognize schemas. Like in TypeBox, they are not enumerable. */
const marked = (schema: Schema, marks: Schema): Schema =>
  Object.defineProperties(
    {},
    {
      ...Object.getOwnPropertyDescriptors(schema),
      ...Object.fromEntries(Object.entries(marks).map(([key, value]) => [key, { value }]))
    }
  )

const makeSchema = (kind: string, schema: Schema, options?: Schema): Schema =>
  marked({ ...schema, ...options }, { '~kind': kind })

/** The subset of TypeBox's `Type` that rule fields need. TypeBox accepts these schemas. */
export const Type = {
  Integer: (options?: Schema) => makeSchema('Integer', { type: 'integer' }, options),
  String: (options?: Schema) => makeSchema('String', { type: 'string' }, options),
  Boolean: (options?: Schema) => makeSchema('Boolean', { type: 'boolean' }, options),
  Null: (options?: Schema) => makeSchema('Null', { type: 'null' }, options),
  Literal: (value: string, options?: Schema) =>
    makeSchema('Literal', { type: 'string', const: value }, options),
  Union: (anyOf: readonly Schema[], options?: Schema) => makeSchema('Union', { anyOf }, options),
  Array: (items: Schema, options?: Schema) => makeSchema('Array', { type: 'array', items }, options),
  Optional: (schema: Schema) => marked(schema, { '~optional': true }),
  Object: (properties: Readonly<Record<string, Schema>>, options?: Schema) => {
    const required = Object.keys(properties).filter(name => !Reflect.has(properties[name] ?? {}, '~optional'))
    return makeSchema('Object', { type: 'object', required, properties }, options)
  }
} as unknown as Pick<
  typeof TypeBox,
  'Integer' | 'String' | 'Boolean' | 'Null' | 'Literal' | 'Union' | 'Array' | 'Optional' | 'Object'
>
