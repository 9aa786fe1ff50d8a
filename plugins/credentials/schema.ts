import { type Static, Type } from 'typebox'
import { closed, orNull, timeOf, UserId } from '../../kernel/http/schema.ts'

const CredentialId = Type.String({ description: 'ULID.', examples: ['01KCD3F0P7Q4Y6Z8V1T5S9R2NC'] })
export const Label = Type.String({ description: 'Free text; at most 255 bytes.', examples: ['deploy@ci'] })

export const Scope = Type.String({
  maxLength: 64,
  description: 'AREA:read or AREA:write; `*` is all areas.',
  examples: ['rule:read']
})
const Source = Type.String({
  maxLength: 64,
  description: 'An address or a network.',
  examples: ['192.0.2.0/24']
})

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
  ),
  scopes: Type.Optional(
    orNull(Type.Array(Scope, { maxItems: 256 }), {
      description: 'What the token may do; null or absent: everything that the user may do.',
      examples: [['rule:read', 'rule:write']]
    })
  ),
  allowed_sources: Type.Optional(
    orNull(Type.Array(Source, { minItems: 1, maxItems: 64 }), {
      description: 'Addresses from which the token works; null or absent: all.',
      examples: [['192.0.2.0/24']]
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
    last_used_from: orNull(Type.String(), {
      description: 'Address of the last use.',
      examples: ['198.51.100.7']
    }),
    expires_at: orNull(timeOf('When it expires; null: never.')),
    revoked_at: orNull(timeOf('When it was revoked.')),
    scopes: orNull(Type.Array(Scope), {
      description: 'What it may do; null: everything that the user may do.',
      examples: [['rule:read', 'rule:write']]
    }),
    allowed_sources: orNull(Type.Array(Source), {
      description: 'Networks from which it works; null: all.',
      examples: [['192.0.2.0/24']]
    })
  },
  { $id: 'Credential' }
)
export type CredentialRow = Static<typeof CredentialRow>

export const ScopeRow = closed(
  {
    scope: Scope,
    routes: Type.Array(Type.String(), {
      description: 'Methods and paths that need it; for all areas empty.',
      examples: [['GET /v1/rules', 'GET /v1/rules/{rule_id}']]
    })
  },
  { $id: 'Scope' }
)
export type ScopeRow = Static<typeof ScopeRow>
