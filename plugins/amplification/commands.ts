import { Type } from '../../kernel/cli/args.ts'
import { pushOptionsSlot } from '../rules/command-exports.ts'

export const fills = [
  pushOptionsSlot.fill({
    args: {
      reply_ratio: Type.Optional(
        Type.Integer({ description: 'UDP: bytes of replies for each byte of a caller who is not proven.' })
      ),
      reply_proven_after: Type.Optional(
        Type.Integer({
          description: 'UDP: datagrams after replies that prove a caller; 0: none do. Default 8.'
        })
      )
    },
    body({ reply_ratio: ratio, reply_proven_after: proven_after }) {
      if (ratio === undefined && proven_after === undefined) return {}
      return { amplification: { ratio, ...(proven_after !== undefined && { proven_after }) } }
    }
  })
]
