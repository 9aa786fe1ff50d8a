import { Fault, wrongUsage } from '../../kernel/base/errors.ts'
import { Type } from '../../kernel/cli/args.ts'
import { type CommandCall, defineCommand } from '../../kernel/cli/command.ts'
import type { Kernel } from '../../kernel/plugin.ts'
import { UserArg } from '../users/command-exports.ts'
import { askPassword } from '../users/exports.ts'
import type { Recovery } from './password/recovery.ts'

interface Deps extends Kernel {
  readonly recovery: Recovery
}

const keep_api_tokens = Type.Optional(
  Type.Boolean({ description: 'Do not revoke the bearer tokens of the user.' })
)

// `open` returns the container of this plugin.
const openAuth = (call: Pick<CommandCall<object>, 'open'>) => call.open('auth') as Promise<Deps>

const bootstrap = defineCommand({
  name: 'bootstrap-superadmin',
  summary: 'Create the user _superadmin and print its bearer token once; the server must be stopped.',
  needs: 'data',
  async run(call) {
    const { recovery } = await openAuth(call)
    call.print.data(await recovery.bootstrap())
  }
})

const resetPassword = defineCommand({
  name: 'reset-password',
  summary: 'Set a temporary password for a user and print it once; the server must be stopped.',
  args: Type.Object({
    user: Type.String({ description: 'Id of the user.' }),
    temporary: Type.Optional(
      Type.Boolean({
        description: 'Required. The user must change the password at the next login, within 24 hours.'
      })
    ),
    keep_api_tokens,
    drop_second_factors: Type.Optional(
      Type.Boolean({ description: 'Also remove all second factors of the user, such as of a lost phone.' })
    )
  }),
  positional: ['user'],
  needs: 'data',
  async run(call) {
    const { user, temporary, keep_api_tokens: keep, drop_second_factors: drops } = call.args
    if (temporary !== true)
      throw new Fault(wrongUsage, 'add --temporary: only the user can set a permanent password')
    const { recovery } = await openAuth(call)
    const tokens = keep === true ? 'keep' : 'revoke'
    call.print.data(await recovery.reset(user, tokens, drops === true ? 'drop' : 'keep'))
  }
})

const resetRemotely = defineCommand({
  name: 'user reset-password',
  summary: 'Reset the password of a user; without a new one, make a temporary one and print it once.',
  args: Type.Object({
    user: UserArg,
    new_password: Type.Optional(
      Type.Boolean({ description: 'Read the password from SVC_NEW_PASSWORD, a prompt or standard input.' })
    ),
    lasting: Type.Optional(Type.Boolean({ description: 'The user need not change the new password.' })),
    keep_api_tokens
  }),
  positional: ['user'],
  async run(call) {
    const { user, new_password: asksPassword = false, lasting = false, ...rest } = call.args
    if (lasting && !asksPassword)
      throw new Fault(wrongUsage, '--lasting needs --new-password: a random one is temporary')
    const body = {
      ...rest,
      temporary: !lasting,
      ...(asksPassword && { new_password: await askPassword(call) })
    }
    call.print.data(
      await call.api.call('POST /v1/users/{user_id}/password', { path: { user_id: user }, body })
    )
  }
})

export const commands = [bootstrap, resetPassword, resetRemotely]
