import { Type } from '../../kernel/cli/args.ts'
import { defineCommand } from '../../kernel/cli/command.ts'
import { UserArg } from '../users/command-exports.ts'

const drop = defineCommand({
  name: 'user drop-second-factors',
  summary: 'Remove all second factors of a user, for example after the loss of a phone.',
  args: Type.Object({ user: UserArg }),
  positional: ['user'],
  async run({ api, args: { user }, print }) {
    await api.call('DELETE /v1/users/{user_id}/second-factors', { path: { user_id: user } })
    print.done(`${user} has no second factor any more.`, { user_id: user })
  }
})

export const commands = [drop]
