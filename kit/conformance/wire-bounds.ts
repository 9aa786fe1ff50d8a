import { type TSchema, Type } from 'typebox'
import type { Message } from '../../kernel/wire/message.ts'

/** Returns the parts of messages without a size bound: each with its message, and the missing constraint. */
export const unboundedParts = (messages: readonly Message[]): string[] =>
  [...new Map(messages.map(message => [message.name, message])).values()].flatMap(({ name, body }) =>
    unbounded(body, name)
  )

function unbounded(schema: TSchema, path: string): string[] {
  const keywords = schema as Readonly<Record<string, unknown>>
  const lacks = (...names: readonly string[]): string[] =>
    names.some(name => keywords[name] !== undefined) ? [] : [`${path} has no ${names[0]}`]
  if (Type.IsLiteral(schema) || Type.IsEnum(schema) || Type.IsBoolean(schema)) return []
  if (Type.IsUnion(schema)) return schema.anyOf.flatMap(option => unbounded(option, path))
  if (Type.IsString(schema)) return lacks('maxLength', 'pattern')
  if (Type.IsInteger(schema) || Type.IsNumber(schema))
    return [...lacks('minimum', 'exclusiveMinimum'), ...lacks('maximum')]
  if (Type.IsArray(schema)) return [...lacks('maxItems'), ...unbounded(schema.items, `${path}[]`)]
  if (Type.IsRecord(schema)) {
    const values = Object.values(schema.patternProperties) as TSchema[]
    return [
      ...lacks('maxProperties'),
      ...lacks('propertyNames'),
      ...values.flatMap(value => unbounded(value, `${path}{}`))
    ]
  }
  if (Type.IsObject(schema))
    return Object.entries(schema.properties).flatMap(([key, value]) => unbounded(value, `${path}.${key}`))
  return lacks('maxLength') // bytes
}
