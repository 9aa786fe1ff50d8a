// The section [plugins.oidc] of the configuration.
import { type Static, Type } from 'typebox'
import { closed } from '../../kernel/http/schema.ts'
import { GrantTemplate } from '../grants/exports.ts'

const text = (description: string, options: object = {}) =>
  Type.Optional(Type.String({ minLength: 1, maxLength: 512, description, ...options }))
const path = (description: string) => text(description, { pattern: '^/' })
const flag = (description: string) => Type.Optional(Type.Boolean({ description }))

const Provider = closed({
  issuer: Type.String({ maxLength: 512, description: 'Issuer of the provider: https, or http on loopback.' }),
  client_id: Type.String({ minLength: 1, maxLength: 512, description: 'Id of sluice at the provider.' }),
  client_secret_file: path(
    'Absolute path of a file with the secret in its first line. Only its owner may read it. Without a secret, sluice is a public client.'
  ),
  title: text('Text of the button. Default: the name.', { maxLength: 64 }),
  scopes: text('Asked from the provider. Default: openid profile email.', {
    pattern: '^[\\x21-\\x7e]+( [\\x21-\\x7e]+)*$'
  }),
  user_claim: text('Claim with the user_id of new users. Default: preferred_username.'),
  groups_claim: text('Claim with the groups: its exact name, also with colons and slashes. Default: groups.'),
  allowed_groups: Type.Optional(
    Type.Array(Type.String({ minLength: 1, maxLength: 512 }), {
      minItems: 1,
      maxItems: 256,
      description: 'Groups that may sign in. Default: all users of the provider.'
    })
  ),
  roles: Type.Optional(
    Type.Record(
      Type.String(),
      Type.Union([Type.Literal('viewer'), Type.Literal('operator'), Type.Literal('superadmin')]),
      { maxProperties: 256, description: 'Roles of groups; of several the highest.' }
    )
  ),
  grants: Type.Optional(
    Type.Record(Type.String(), Type.Array(GrantTemplate, { maxItems: 100 }), {
      maxProperties: 256,
      description: 'Grants of groups: for each group a list of bodies of POST /v1/grants without user_id.'
    })
  ),
  make_users: flag('Creates unknown users. Default: false.'),
  trust_mfa: flag('Its sessions count as two factors. Default: false.'),
  acr_values: text('Asked from the provider.'),
  session_max_secs: Type.Optional(
    Type.Integer({
      minimum: 60,
      maximum: 604_800,
      description: 'When its sessions end. Default: 43200.'
    })
  ),
  logout: Type.Optional(
    Type.Union([Type.Literal('local'), Type.Literal('provider')], {
      description:
        'What a logout ends: local (the session of sluice) or provider (that at the provider, too). Default: local.'
    })
  ),
  extra_ca_file: path(
    'Absolute path of a PEM file with additional authorities for the requests to the provider.'
  )
})
export type ProviderConfig = Static<typeof Provider>

export const config = Type.Object({
  providers: Type.Record(Type.String(), Provider, {
    default: {},
    hot: true,
    description: 'OpenID Connect providers, by name; at most 8.'
  })
})
export type Config = Static<typeof config>
