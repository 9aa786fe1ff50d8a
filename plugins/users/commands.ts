import { Fault, wrongUsage } from '../../kernel/base/errors.ts'
import { Type, Yes } from '../../kernel/cli/args.ts'
import { type Api, defineCommand } from '../../kernel/cli/command.ts'
import {
  addedArgs,
  addedBody,
  addedColumns,
  addedQuery,
  listOptionSlots,
  recordOptionSlots
} from '../http/command-exports.ts'
import { askPassword } from './ask-password.ts'
import { UserArg } from './command-exports.ts'

const oneUser = { args: Type.Object({ user: UserArg }), positional: ['user'] }
const Role = Type.Optional(
  Type.Union(
    [Type.Literal('superadmin'), Type.Literal('operator'), Type.Literal('viewer'), Type.Literal('user')],
    {
      description:
        'superadmin; operator: clients, rules and limits of everybody; viewer: sees everything; user (default): own rules.'
    }
  )
)

const Kind = Type.Optional(
  Type.Union([Type.Literal('user'), Type.Literal('service')], {
    description: 'service: automation, with tokens but without a password; user (default): can sign in.'
  })
)

const create = defineCommand({
  name: 'user create',
  summary: 'Create a user.',
  args: Type.Object({
    user: Type.String({ description: 'Id of the new user.' }),
    display_name: Type.Optional(Type.String({ description: 'Default: the id of the user.' })),
    role: Role,
    kind: Kind,
    initial_password: Type.Optional(
      Type.Boolean({ description: 'Read a password from SVC_NEW_PASSWORD, a prompt or standard input.' })
    ),
    password_change_required: Type.Optional(
      Type.Boolean({ description: 'The user must change the password at the first login, within 24 hours.' })
    )
  }),
  positional: ['user'],
  reads: [recordOptionSlots.user],
  extraArgs: filled => addedArgs(filled(recordOptionSlots.user)),
  async run(call) {
    const {
      user,
      display_name = user,
      role,
      kind,
      initial_password: asksPassword,
      password_change_required
    } = call.args
    const rest = {
      role,
      kind,
      password_change_required,
      ...addedBody(call.filled(recordOptionSlots.user), call.args)
    }
    const password = asksPassword === true ? { initial_password: await askPassword(call) } : {}
    const body = { user_id: user, display_name, ...rest, ...password }
    call.print.data(await call.api.call('POST /v1/users', { body }))
  }
})

const list = defineCommand({
  name: 'user list',
  summary: 'List the users.',
  reads: [listOptionSlots.user],
  extraArgs: filled => addedArgs(filled(listOptionSlots.user)),
  async run({ api, args, filled, print }) {
    const more = filled(listOptionSlots.user)
    const rows = await api.rows('GET /v1/users', { query: addedQuery(more, args) })
    print.data(rows, more.length === 0 ? undefined : [...scalarColumns(rows), ...addedColumns(more)])
  }
})

const show = defineCommand({
  name: 'user show',
  summary: 'Show one user.',
  ...oneUser,
  run: async ({ api, args, print }) =>
    print.data(await api.call('GET /v1/users/{user_id}', { path: { user_id: args.user } }))
})

const update = defineCommand({
  name: 'user update',
  summary: 'Rename a user, change the role, or disable or enable the user.',
  args: Type.Object({
    user: UserArg,
    display_name: Type.Optional(Type.String({ description: '1 to 64 characters.' })),
    role: Role,
    disable: Type.Optional(
      Type.Boolean({ description: 'End the sessions and refuse the tokens; the rules stay active.' })
    ),
    enable: Type.Optional(Type.Boolean({ description: 'Allow the user to sign in again.' }))
  }),
  positional: ['user'],
  async run({ api, args, print }) {
    const { user, disable = false, enable = false, ...rest } = args
    if (disable && enable) throw new Fault(wrongUsage, 'give --disable or --enable, not both')
    const body = { ...rest, ...((disable || enable) && { disabled: disable }) }
    if (Object.keys(body).length === 0)
      throw new Fault(wrongUsage, 'give at least one change: --display-name, --role, --disable or --enable')
    print.data(await api.call('PATCH /v1/users/{user_id}', { path: { user_id: user }, body }))
  }
})

const remove = defineCommand({
  name: 'user delete',
  aliases: ['remove'],
  summary: 'Delete a user and everything that the user owns, and cut the live connections.',
  args: Type.Object({ user: UserArg, yes: Yes }),
  positional: ['user'],
  async run({ api, args: { user }, print, confirm }) {
    await confirm(`Delete the user ${user}?`, { losses: () => countLosses(api, user) })
    print.data(await api.call('DELETE /v1/users/{user_id}', { path: { user_id: user } }))
  }
})

async function countLosses(api: Api, user: string): Promise<string[]> {
  const [rules, grants, credentials] = await Promise.all([
    api.rows('GET /v1/rules', { query: { owner: user } }),
    api.rows('GET /v1/grants', { query: { user_id: user } }),
    api.rows('GET /v1/users/{user_id}/credentials', { path: { user_id: user } })
  ])
  return [`rules: ${rules.length}`, `grants: ${grants.length}`, `tokens: ${credentials.length}`]
}

/** Returns the columns with scalar values: plugins add the others. */
const scalarColumns = ([first = {}]: readonly object[]): string[] =>
  Object.entries(first).flatMap(([name, value]) =>
    typeof value === 'object' && value !== null ? [] : [name]
  )

export const commands = [create, list, show, update, remove]
