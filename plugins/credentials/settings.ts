import { Type } from 'typebox'

export const keys = Type.Object({
  credential_max_secs: Type.Refine(
    Type.Integer({
      minimum: 0,
      maximum: 315_360_000,
      default: 0,
      hot: true,
      description: 'Longest lifetime of a new token, at least 60; 0 is no limit.'
    }),
    secs => secs === 0 || secs >= 60,
    secs => `must be 0 or 60 to 315360000, got ${secs}`
  )
})
