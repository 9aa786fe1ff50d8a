import { type TProperties, type TSchema, type TSchemaOptions, Type } from 'typebox'

/** An object without further fields, so that misspelled ones are errors. */
export const closed = <P extends TProperties>(properties: P, options: TSchemaOptions = {}) =>
  Type.Object(properties, { ...options, additionalProperties: false as const })

export const orNull = <T extends TSchema>(schema: T, options: TSchemaOptions = {}) =>
  Type.Union([schema, Type.Null()], options)

const Time = Type.String({ format: 'date-time', examples: ['2026-01-31T12:00:00.000Z'] })
export const timeOf = (description: string) => Type.String({ ...Time, description })

export const ClientId = Type.String({
  description: 'ULID of a client.',
  examples: ['01KCD3F0P7Q4Y6Z8V1T5S9R2NA']
})
export const UserId = Type.String({
  description: '1 to 32 of a-z, 0-9, _, -; a letter first.',
  examples: ['ann']
})
