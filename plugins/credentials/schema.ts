import { type Static, Type } from 'typebox'
import { closed, orNull, timeOf, UserId } from '../../kernel/http/schema.ts'

const CredentialId = Type.String({ description: 'ULID.', examples: ['01KCD3F0P7Q4Y6Z8V1T5S9R2NC'] })
const Label = Type.String({ description: 'Free text; at most 255 bytes.', examples: ['deploy@ci'] })

export const UserParams = closed({ user_id: UserId })
export const CredentialParams = closed({ user_id: UserId, cred_id: CredentialId })

export const IssueBody = closed({
  label: Type.Optional(Label),
  expires_in_secs: Type.Optional(
    Type.Integer({
      minimum: 60,
      maximum: 315_360_000,
      description: 'Lifetime in seconds. Without it the token never expires.',
      examples: [7_776_000]
    })
  )
})
export type IssueBody = Static<typeof IssueBody>

export const IssuedCredential = closed(
  {
    credential_id: CredentialId,
    user_id: UserId,
    token: Type.String({
      description: 'The bearer token; shown only in this response.',
      examples: ['svct_EXAMPLE-of-a-token-do-not-use']
    }),
    label: Label,
    created_at: timeOf('When it was issued.')
  },
  { $id: 'IssuedCredential' }
)
export type IssuedCredential = Static<typeof IssuedCredential>

export const CredentialRow = closed(
  {
    credential_id: CredentialId,
    user_id: UserId,
    label: Label,
    created_at: timeOf('When it was issued.'),
    last_used_at: orNull(timeOf('When it was last used.')),
    expires_at: orNull(timeOf('When it expires; null: never.')),
    revoked_at: orNull(timeOf('When it was revoked.'))
  },
  { $id: 'Credential' }
)
export type CredentialRow = Static<typeof CredentialRow>
