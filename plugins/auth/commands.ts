import { Type } from 'typebox'
import { Fault, wrongUsage } from '../../kernel/base/errors.ts'
import { type CommandCall, defineCommand } from '../../kernel/cli/command.ts'
import type { Kernel } from '../../kernel/plugin.ts'
import type { Recovery } from './recovery.ts'

interface Deps extends Kernel {
  readonly recovery: Recovery
}

const recoveryOf = async ({ open }: Pick<CommandCall<object>, 'open'>): Promise<Recovery> => {
  const { recovery } = (await open('auth')) as Deps // this plugin's own container
  return recovery
}

const bootstrap = defineCommand({
  name: 'bootstrap-superadmin',
  summary:
    'Make the user _superadmin with a bearer token, which is printed once; the server must be stopped.',
  args: Type.Object({}),
  needs: 'data',
  async run(call) {
    const recovery = await recoveryOf(call)
    call.print.data(await recovery.bootstrap())
  }
})

const resetPassword = defineCommand({
  name: 'reset-password',
  summary: 'Give a user a temporary password, which is printed once; the server must be stopped.',
  args: Type.Object({
    user: Type.String({ description: 'The user_id.' }),
    temporary: Type.Optional(
      Type.Boolean({ description: 'It must be changed at the next login, in 24 hours.' })
    ),
    keep_api_tokens: Type.Optional(
      Type.Boolean({ description: 'Do not revoke the bearer tokens of the user.' })
    )
  }),
  positional: ['user'],
  needs: 'data',
  async run(call) {
    const { user, temporary, keep_api_tokens: keep } = call.args
    if (temporary !== true)
      throw new Fault(wrongUsage, 'say --temporary: a lasting password is set by its user')
    const recovery = await recoveryOf(call)
    call.print.data(await recovery.reset(user, keep === true ? 'keep' : 'revoke'))
  }
})

export const commands = [bootstrap, resetPassword]
