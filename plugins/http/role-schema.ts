import { type TSchemaOptions, Type } from 'typebox'

export const roleSchema = (options: TSchemaOptions) =>
  Type.Union(
    [Type.Literal('superadmin'), Type.Literal('operator'), Type.Literal('viewer'), Type.Literal('user')],
    options
  )
