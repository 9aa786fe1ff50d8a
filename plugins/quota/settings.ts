import { Type } from 'typebox'

export const keys = Type.Object({
  quota_hold_secs: Type.Integer({
    minimum: 0,
    maximum: 86_400,
    default: 60,
    description: 'How long live connections of an exhausted quota are held, in case it is refilled.'
  })
})
