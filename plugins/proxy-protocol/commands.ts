import { Type } from '../../kernel/cli/args.ts'
import { pushOptionsSlot } from '../rules/command-exports.ts'

export const fills = [
  pushOptionsSlot.fill({
    args: {
      proxy_in: Type.Optional(
        Type.String({
          description: 'Addresses and prefixes of proxies in front, with commas: they write PROXY headers.'
        })
      ),
      proxy_out: Type.Optional(
        Type.Integer({ description: 'PROXY protocol header for targets: version 1 or 2.' })
      ),
      proxy_out_udp: Type.Optional(
        Type.Union([Type.Literal('first'), Type.Literal('each')], {
          description: 'Which datagrams of a flow have the header: first (default) or each.'
        })
      )
    },
    body: ({ proxy_in, proxy_out, proxy_out_udp }) => ({
      ...(proxy_in !== undefined && { proxy_in: String(proxy_in).split(',') }),
      ...(proxy_out !== undefined && { proxy_out }),
      ...(proxy_out_udp !== undefined && { proxy_out_udp })
    })
  })
]
