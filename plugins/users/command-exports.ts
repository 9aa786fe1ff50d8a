// Exports for commands of other plugins. They load no server code.
import { Type } from '../../kernel/cli/args.ts'

/** Shell completion of user ids. */
export const userIds = { values: ['/v1/users', 'user_id'] } as const

export const UserArg = Type.String({ description: 'Id of the user.', ...userIds })
