import { type Static, Type } from 'typebox'

const Port = Type.Integer({ minimum: 0, maximum: 65_535 })

/** A target matches if it meets all conditions that are present. */
export const TargetMatch = Type.Object({
  cidr: Type.Optional(Type.String({ maxLength: 64 })), // contains the address
  host: Type.Optional(Type.String({ maxLength: 255 })), // the name in the rule, lower-case
  port_from: Type.Optional(Port), // both ports or neither
  port_to: Type.Optional(Port)
})
export type TargetMatch = Static<typeof TargetMatch>

/** The most entries of a list: those that all grants of one user have. */
export const maxTargetMatches = 500
