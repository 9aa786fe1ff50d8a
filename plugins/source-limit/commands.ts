import { Type } from '../../kernel/cli/args.ts'
import { pushOptionsSlot } from '../rules/command-exports.ts'

const count = (description: string) => Type.Optional(Type.Integer({ minimum: 1, description }))

export const fills = [
  pushOptionsSlot.fill({
    args: {
      source_connections: count('Connections of one source at once.'),
      source_new_connections: count('Connections that one source may begin in --source-within-secs.'),
      source_within_secs: count('Seconds of --source-new-connections; default 10.')
    },
    body({ source_connections, source_new_connections, source_within_secs }) {
      const source_limit = {
        ...(source_connections !== undefined && { connections: source_connections }),
        ...(source_new_connections !== undefined && { new_connections: source_new_connections }),
        ...(source_within_secs !== undefined && { within_secs: source_within_secs })
      }
      return Object.keys(source_limit).length === 0 ? {} : { source_limit }
    }
  })
]
