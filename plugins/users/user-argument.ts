// The USER argument of commands.
import { Type } from '../../kernel/cli/args.ts'

/** Completed in a shell: users by id. */
export const userIds = { values: ['/v1/users', 'user_id'] } as const

export const UserArg = Type.String({ description: 'user_id', ...userIds })
