import { Type } from 'typebox'

export const keys = Type.Object({
  quota_hold_secs: Type.Integer({
    minimum: 0,
    maximum: 86_400,
    default: 60,
    description:
      'How long open connections of an exhausted quota wait for a new period or a larger size before they are reset.'
  })
})
