import { Type } from '../../kernel/cli/args.ts'
import { pushOptionsSlot } from '../rules/command-exports.ts'

export const fills = [
  pushOptionsSlot.fill({
    args: {
      balance: Type.Optional(
        Type.String({
          description:
            'How to spread connections over targets of one priority: round_robin, weighted, least_connections, source_hash or random_two.'
        })
      )
    },
    body: ({ balance }) => (balance === undefined ? {} : { balance })
  })
]
