import { Type } from '../../kernel/cli/args.ts'
import { defineCommand } from '../../kernel/cli/command.ts'
import { checkSlot } from '../cli/check-exports.ts'
import { UserArg } from '../users/command-exports.ts'
import { signInCheck } from './doctor-check.ts'

const columns = ['identity_id', 'provider', 'sub', 'issuer', 'created_at', 'last_used_at'] as const

const list = defineCommand({
  name: 'identity list',
  summary: 'List the identities with which a user can sign in at providers.',
  args: Type.Object({ user: UserArg }),
  positional: ['user'],
  async run({ api, args, print }) {
    const path = { user_id: args.user }
    print.data(await api.rows('GET /v1/users/{user_id}/identities', { path }), columns)
  }
})

const add = defineCommand({
  name: 'identity add',
  summary: 'Let a user of a provider sign in as a user.',
  args: Type.Object({
    user: UserArg,
    provider: Type.String({ description: 'Name of the provider in the configuration.' }),
    sub: Type.String({ description: 'Id of the user at the provider, its claim sub.' })
  }),
  positional: ['user', 'provider', 'sub'],
  async run({ api, args: { user, ...body }, print }) {
    print.data(await api.call('POST /v1/users/{user_id}/identities', { path: { user_id: user }, body }))
  }
})

const remove = defineCommand({
  name: 'identity remove',
  aliases: ['delete'],
  summary: 'Remove an identity of a user.',
  args: Type.Object({ user: UserArg, identity: Type.String({ description: 'Id of the identity.' }) }),
  positional: ['user', 'identity'],
  async run({ api, args: { user, identity }, print }) {
    const path = { user_id: user, identity_id: identity }
    await api.call('DELETE /v1/users/{user_id}/identities/{identity_id}', { path })
    print.done(`${user} cannot sign in with ${identity} any more.`, { identity_id: identity, removed: true })
  }
})

export const fills = [checkSlot.fill(signInCheck)]

export const commands = [list, add, remove]
