import { Type } from '../../kernel/cli/args.ts'
import { type Api, defineCommand } from '../../kernel/cli/command.ts'
import { userIds } from '../users/command-exports.ts'

const User = Type.Optional(Type.String({ description: 'Id of the user. Default: you.', ...userIds }))

const oneCredential = {
  args: Type.Object({ credential: Type.String({ description: 'Id of the token.' }), user: User }),
  positional: ['credential']
}

const userOf = async (api: Api, userId: string | undefined): Promise<string> =>
  userId ?? (await api.call('GET /v1/users/me')).user_id

const issue = defineCommand({
  name: 'credential issue',
  aliases: ['create'],
  summary: 'Issue a bearer token; it is printed once.',
  args: Type.Object({
    user: User,
    label: Type.Optional(Type.String({ description: 'Free text; at most 255 bytes.' })),
    expires_in_secs: Type.Optional(
      Type.Integer({ description: 'Lifetime in seconds. Default: the token never expires.' })
    ),
    scope: Type.Optional(
      Type.Array(Type.String(), {
        description:
          'What the token may do, such as rule:read; see scope list. Default: everything that the user may do.',
        values: ['/v1/scopes', 'scope']
      })
    ),
    allow_source: Type.Optional(
      Type.Array(Type.String(), {
        description: 'Network from which the token works, such as 192.0.2.0/24. Default: all.'
      })
    )
  }),
  async run({ api, args: { user, scope: scopes, allow_source: allowed_sources, ...rest }, print }) {
    const path = { user_id: await userOf(api, user) }
    const body = { ...rest, ...(scopes && { scopes }), ...(allowed_sources && { allowed_sources }) }
    print.data(await api.call('POST /v1/users/{user_id}/credentials', { path, body }))
  }
})

const columns = [
  'credential_id',
  'user_id',
  'label',
  'created_at',
  'last_used_at',
  'last_used_from',
  'expires_at',
  'revoked_at',
  'scopes',
  'allowed_sources'
] as const

const list = defineCommand({
  name: 'credential list',
  summary: 'List the tokens of a user, without their secrets.',
  args: Type.Object({ user: User }),
  async run({ api, args, print }) {
    const path = { user_id: await userOf(api, args.user) }
    print.data(await api.rows('GET /v1/users/{user_id}/credentials', { path }), columns)
  }
})

const revoke = defineCommand({
  name: 'credential revoke',
  aliases: ['delete', 'remove'],
  summary: 'Revoke a token.',
  ...oneCredential,
  async run({ api, args: { credential, user }, print }) {
    const path = { user_id: await userOf(api, user), cred_id: credential }
    await api.call('DELETE /v1/users/{user_id}/credentials/{cred_id}', { path })
    print.done(`${credential} is revoked`, { credential_id: credential, revoked: true })
  }
})

const rotate = defineCommand({
  name: 'credential rotate',
  summary: 'Replace a token; the new one is printed once, the old one stops working.',
  ...oneCredential,
  async run({ api, args: { credential, user }, print }) {
    const path = { user_id: await userOf(api, user), cred_id: credential }
    print.data(await api.call('POST /v1/users/{user_id}/credentials/{cred_id}/rotate', { path }))
  }
})

const scopes = defineCommand({
  name: 'scope list',
  summary: 'List the scopes that a token can have, with their routes.',
  run: async ({ api, print }) => print.data(await api.rows('GET /v1/scopes'), ['scope', 'routes'])
})

export const commands = [issue, list, revoke, rotate, scopes]
