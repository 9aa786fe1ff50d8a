import { type Static, Type } from 'typebox'

const closed = { additionalProperties: false } as const
const Time = Type.String({ format: 'date-time' })
const OrNull = Type.Union([Time, Type.Null()])

export const UserParams = Type.Object({ id: Type.String() }, closed)
export const CredentialParams = Type.Object({ id: Type.String(), cred_id: Type.String() }, closed)

export const IssueBody = Type.Object(
  {
    label: Type.Optional(Type.String({ description: 'Free text; at most 255 bytes.' })),
    expires_in_secs: Type.Optional(
      Type.Integer({ minimum: 60, maximum: 315_360_000, description: 'Never expires without it.' })
    )
  },
  closed
)
export type IssueBody = Static<typeof IssueBody>

export const IssuedCredential = Type.Object(
  {
    credential_id: Type.String(),
    user_id: Type.String(),
    token: Type.String({ description: 'The bearer token; shown only in this response.' }),
    label: Type.String(),
    created_at: Time
  },
  closed
)
export type IssuedCredential = Static<typeof IssuedCredential>

export const CredentialRow = Type.Object(
  {
    credential_id: Type.String(),
    user_id: Type.String(),
    label: Type.String(),
    created_at: Time,
    last_used_at: OrNull,
    expires_at: OrNull,
    revoked_at: OrNull
  },
  closed
)
export type CredentialRow = Static<typeof CredentialRow>
