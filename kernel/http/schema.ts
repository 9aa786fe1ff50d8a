import { type TProperties, type TSchema, Type } from 'typebox'

/** An object that allows no other fields: a misspelled one is an error. */
export const closed = <P extends TProperties>(properties: P) =>
  Type.Object(properties, { additionalProperties: false })

export const orNull = <T extends TSchema>(schema: T) => Type.Union([schema, Type.Null()])

export const Time = Type.String({ format: 'date-time' })
