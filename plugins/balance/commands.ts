import { Type } from '../../kernel/cli/args.ts'
import { pushOptionsSlot } from '../rules/command-exports.ts'

const keys = ['balance', 'slow_connect_ms', 'slow_start_secs', 'source_hash_ipv6_prefix']

export const fills = [
  pushOptionsSlot.fill({
    args: {
      balance: Type.Optional(
        Type.String({
          description:
            'How to spread connections over targets of one priority: round_robin, weighted, least_connections, source_hash or random_two.'
        })
      ),
      slow_connect_ms: Type.Optional(
        Type.Integer({ description: 'Eject targets that connect this much slower than others; 0: none.' })
      ),
      slow_start_secs: Type.Optional(
        Type.Integer({ description: 'How long the share of a target grows that returns or is new.' })
      ),
      source_hash_ipv6_prefix: Type.Optional(
        Type.Integer({ description: 'Of source_hash: IPv6 callers are one by these first bits, such as 64.' })
      )
    },
    body: options =>
      Object.fromEntries(keys.flatMap(key => (options[key] === undefined ? [] : [[key, options[key]]])))
  })
]
