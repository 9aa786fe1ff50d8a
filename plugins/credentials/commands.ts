import { Type } from '../../kernel/cli/args.ts'
import { type Api, defineCommand } from '../../kernel/cli/command.ts'
import type { CredentialRow, IssuedCredential } from './schema.ts'

const User = Type.Optional(Type.String({ description: 'user_id; default is the caller.' }))

const oneCredential = {
  args: Type.Object({ credential: Type.String({ description: 'credential_id' }), user: User }),
  positional: ['credential']
}

async function pathOf(api: Api, userId: string | undefined): Promise<string> {
  const user = userId ?? (await api.get<{ user_id: string }>('/v1/users/me')).user_id
  return `/v1/users/${encodeURIComponent(user)}/credentials`
}

const issue = defineCommand({
  name: 'credential issue',
  aliases: ['create'],
  summary: 'Issue a bearer token; it is printed once.',
  args: Type.Object({
    user: User,
    label: Type.Optional(Type.String({ description: 'Free text; at most 255 bytes.' })),
    expires_in_secs: Type.Optional(Type.Integer({ description: 'Without it the credential never expires.' }))
  }),
  async run({ api, args: { user, ...body }, print }) {
    print.data(await api.send<IssuedCredential>('POST', await pathOf(api, user), body))
  }
})

const list = defineCommand({
  name: 'credential list',
  summary: 'List the credentials of a user, without their tokens.',
  args: Type.Object({ user: User }),
  run: async ({ api, args, print }) => print.data(await api.list<CredentialRow>(await pathOf(api, args.user)))
})

const revoke = defineCommand({
  name: 'credential revoke',
  aliases: ['delete', 'remove'],
  summary: 'Revoke a credential.',
  ...oneCredential,
  async run({ api, args: { credential, user }, print }) {
    await api.send('DELETE', `${await pathOf(api, user)}/${encodeURIComponent(credential)}`)
    print.done(`${credential} is revoked`, { credential_id: credential, revoked: true })
  }
})

const rotate = defineCommand({
  name: 'credential rotate',
  summary: 'Give a credential a new token, printed once; the old one ends.',
  ...oneCredential,
  async run({ api, args: { credential, user }, print }) {
    const path = `${await pathOf(api, user)}/${encodeURIComponent(credential)}/rotate`
    print.data(await api.send<IssuedCredential>('POST', path))
  }
})

export const commands = [issue, list, revoke, rotate]
