import { Type } from '../../kernel/cli/args.ts'
import { columnSlot, pushOptionsSlot } from '../rules/command-exports.ts'

const pushOptions = pushOptionsSlot.fill({
  args: {
    sni: Type.Optional(Type.String({ description: 'TLS server name that the rule matches, or *.domain.' })),
    sni_fallback: Type.Optional(
      Type.Boolean({ description: 'Takes connections without TLS or a matching name on the port.' })
    )
  },
  body: ({ sni, sni_fallback }) => ({
    ...(sni !== undefined && { sni_pattern: sni }),
    ...(sni_fallback !== undefined && { sni_fallback })
  })
})

const tlsName = columnSlot.fill([
  'tls_name',
  ({ sni_pattern: pattern, sni_fallback: isFallback }) =>
    String(pattern ?? (isFallback === true ? 'fallback' : '-'))
])

export const fills = [pushOptions, tlsName]
