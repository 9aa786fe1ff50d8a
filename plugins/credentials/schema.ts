import { type Static, Type } from 'typebox'
import { closed, orNull, Time } from '../../kernel/http/schema.ts'

export const UserParams = closed({ id: Type.String() })
export const CredentialParams = closed({ id: Type.String(), cred_id: Type.String() })

export const IssueBody = closed({
  label: Type.Optional(Type.String({ description: 'Free text; at most 255 bytes.' })),
  expires_in_secs: Type.Optional(
    Type.Integer({
      minimum: 60,
      maximum: 315_360_000,
      description: 'Without it the credential never expires.'
    })
  )
})
export type IssueBody = Static<typeof IssueBody>

export const IssuedCredential = closed({
  credential_id: Type.String(),
  user_id: Type.String(),
  token: Type.String({ description: 'The bearer token; shown only in this response.' }),
  label: Type.String(),
  created_at: Time
})
export type IssuedCredential = Static<typeof IssuedCredential>

export const CredentialRow = closed({
  credential_id: Type.String(),
  user_id: Type.String(),
  label: Type.String(),
  created_at: Time,
  last_used_at: orNull(Time),
  expires_at: orNull(Time),
  revoked_at: orNull(Time)
})
export type CredentialRow = Static<typeof CredentialRow>
