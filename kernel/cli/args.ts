// Makes schemas of arguments without loading TypeBox, which would dominate the start of a command.
import type { Type as TypeBox } from 'typebox'

type Schema = Readonly<Record<string, unknown>>

const optional = '~optional' // TypeBox's own mark, so that an object can mix both kinds

/** The part of TypeBox's `Type` that arguments need. TypeBox accepts the schemas, too. */
export const Type = {
  String: (options?: Schema) => ({ type: 'string', ...options }),
  Integer: (options?: Schema) => ({ type: 'integer', ...options }),
  Boolean: (options?: Schema) => ({ type: 'boolean', ...options }),
  Array: (items: Schema, options?: Schema) => ({ type: 'array', items, ...options }),
  Literal: (value: string) => ({ const: value }),
  Union: (anyOf: readonly Schema[], options?: Schema) => ({ anyOf, ...options }),
  Optional: (schema: Schema) => Object.defineProperty({ ...schema }, optional, { value: true }),
  Object: (properties: Readonly<Record<string, Schema>>) => ({
    type: 'object',
    required: Object.keys(properties).filter(name => !Reflect.has(properties[name] ?? {}, optional)),
    properties
  })
} as unknown as Pick<
  typeof TypeBox,
  'String' | 'Integer' | 'Boolean' | 'Array' | 'Literal' | 'Union' | 'Optional' | 'Object'
> // TypeBox's types, plain values

/** The argument of commands that call `confirm`. */
export const Yes = Type.Optional(Type.Boolean({ description: 'Do not ask.' }))
