import { type Static, Type } from 'typebox'

const closed = { additionalProperties: false }
const Time = () => Type.String({ format: 'date-time' })
const Ttl = Type.Integer({
  minimum: 1,
  maximum: 86_400,
  code: 'invalid_enrollment_ttl',
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

export const EnrollBody = Type.Object(
  {
    name: Type.String({ description: 'Name of the new client.' }),
    address: Type.Optional(Type.Union([Type.String(), Type.Null()], { description: 'Bare host, no port.' })),
    ttl_secs: Type.Optional(Ttl)
  },
  closed
)

export const ReEnrollBody = Type.Object({ ttl_secs: Type.Optional(Ttl) }, closed)

export const Invitation = Type.Object(
  {
    enrollment_id: Type.String(),
    client_name: Type.String(),
    expires_at: Time(),
    command: Type.String({
      description: 'Run it on the edge host. It contains the code and is shown only in this response.'
    }),
    uri: Type.String()
  },
  closed
)
export type Invitation = Static<typeof Invitation>

export const EnrollmentRow = Type.Object(
  {
    enrollment_id: Type.String(),
    client_id: Type.Union([Type.String(), Type.Null()], {
      description: 'Null: the code creates a new client.'
    }),
    client_name: Type.String(),
    address: Type.Union([Type.String(), Type.Null()]),
    created_by: Type.String(),
    created_at: Time(),
    expires_at: Time()
  },
  closed
)
export type EnrollmentRow = Static<typeof EnrollmentRow>
