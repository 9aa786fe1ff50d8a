import { type Static, Type } from 'typebox'
import { defineCode } from '../../kernel/base/errors.ts'
import { closed, orNull, Time } from '../../kernel/http/schema.ts'

export const invalidEnrollmentTtl = defineCode('invalid_enrollment_ttl', 400, 3)

const Ttl = Type.Integer({
  minimum: 1,
  maximum: 86_400,
  code: invalidEnrollmentTtl.code,
  description: 'Lifetime of the code; default enrollment_ttl_secs.'
})

export const keys = Type.Object({
  enrollment_ttl_secs: Type.Integer({
    minimum: 1,
    maximum: 86_400,
    default: 600,
    description: 'Lifetime of an enrollment code, unless the request gives one.'
  })
})

export const EnrollBody = closed({
  name: Type.String({ description: 'Name of the new client.' }),
  address: Type.Optional(Type.Union([Type.String(), Type.Null()], { description: 'Bare host, no port.' })),
  ttl_secs: Type.Optional(Ttl)
})

export const ReEnrollBody = closed({ ttl_secs: Type.Optional(Ttl) })

export const Invitation = closed({
  enrollment_id: Type.String(),
  client_name: Type.String(),
  expires_at: Time,
  command: Type.String({
    description: 'Run it on the edge host. It contains the code and is shown only in this response.'
  }),
  uri: Type.String()
})
export type Invitation = Static<typeof Invitation>

export const EnrollmentRow = closed({
  enrollment_id: Type.String(),
  client_id: Type.Union([Type.String(), Type.Null()], {
    description: 'Null: the code creates a new client.'
  }),
  client_name: Type.String(),
  address: orNull(Type.String()),
  created_by: Type.String(),
  created_at: Time,
  expires_at: Time
})
export type EnrollmentRow = Static<typeof EnrollmentRow>
