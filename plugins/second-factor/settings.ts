import { type Static, Type } from 'typebox'

export const keys = Type.Object({
  second_factor: Type.Union([Type.Literal('optional'), Type.Literal('superadmins'), Type.Literal('all')], {
    default: 'optional',
    hot: true,
    description: 'Who needs a second factor: optional (nobody), superadmins, or all users.'
  })
})
export type Keys = Static<typeof keys>
