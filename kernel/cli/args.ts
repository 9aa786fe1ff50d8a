// Makes schemas of arguments as TypeBox does, without loading it: its modules would be most of a command's start.
import type { Type as TypeBox } from 'typebox'

type Schema = Readonly<Record<string, unknown>>

const optional = '~optional' // TypeBox's own mark, so that both may stand in one object

/** The part of TypeBox's `Type` that arguments need. The schemas work in TypeBox, too. */
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
> // its types with plain values

/** The argument of commands that ask by `confirm`. */
export const Yes = Type.Optional(Type.Boolean({ description: 'Do not ask.' }))
