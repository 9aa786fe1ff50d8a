import { columnSlot, pushOptions } from '../rules/command-exports.ts'
import { fields } from './fields.ts'

const tlsName = columnSlot.fill([
  'tls_name',
  ({ sni_pattern: pattern, sni_fallback: isFallback }) =>
    String(pattern ?? (isFallback === true ? 'fallback' : '-'))
])

export const fills = [pushOptions(...fields), tlsName]
