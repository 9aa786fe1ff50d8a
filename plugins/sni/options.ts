import { Type } from 'typebox'
import { columnSlot, type PushOptions } from '../rules/exports.ts'
import { fallbackKey, patternKey } from './wire.ts'

export const pushOptions: PushOptions = {
  args: {
    sni: Type.Optional(Type.String({ description: 'TLS server name that the rule matches, or *.domain.' })),
    sni_fallback: Type.Optional(
      Type.Boolean({ description: 'Takes connections without TLS or a matching name on the port.' })
    )
  },
  body: ({ sni, sni_fallback: isFallback }) => ({
    ...(sni !== undefined && { [patternKey]: sni }),
    ...(isFallback !== undefined && { [fallbackKey]: isFallback })
  })
}

export const tlsName = columnSlot.fill([
  'tls_name',
  rule => String(rule[patternKey] ?? (rule[fallbackKey] === true ? 'fallback' : '-'))
])
