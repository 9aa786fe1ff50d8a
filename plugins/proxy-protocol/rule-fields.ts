// The server half of the fields: the valid values. A change applies to new connections.
import { type ErrorCode, Fault } from '../../kernel/base/errors.ts'
import { normalizePrefix, ruleField } from '../rules/exports.ts'
import { invalidIn, invalidOut, proxyIn, proxyOut, proxyOutUdp } from './fields.ts'

const refusal = (code: ErrorCode, field: string, reason: string, why: string): Fault =>
  new Fault(code, `${field} ${why}`, { details: { field, reason } })

export const ruleFields = [
  ruleField({
    ...proxyIn,
    change: 'frozen',
    errors: [invalidIn],
    parse(given) {
      const prefixes = given.map((text, at) => {
        const prefix = normalizePrefix(text)
        if (prefix !== null) return prefix
        const why = `must be an address or a prefix such as 192.0.2.0/24, got ${text}`
        throw refusal(invalidIn, `/${proxyIn.key}/${at}`, 'prefix', why)
      })
      return [...new Set(prefixes)].sort() // makes equal lists comparable: rules that share a port need equal ones
    }
  }),
  ruleField({
    ...proxyOut,
    change: 'frozen',
    errors: [invalidOut],
    parse(version, { protocol }) {
      if (version === 1 && protocol === 'udp')
        throw refusal(invalidOut, `/${proxyOut.key}`, 'protocol', 'must be 2 for UDP rules, got 1')
      return version
    }
  }),
  ruleField({
    ...proxyOutUdp,
    change: 'frozen',
    absent: 'first',
    errors: [invalidOut],
    parse(datagrams, { protocol }, { [proxyOut.key]: version = null }) {
      if (datagrams === 'first') return null
      if (protocol === 'udp' && version !== null) return datagrams
      const why = `each is for UDP rules with ${proxyOut.key} 2; omit it or give null elsewhere`
      throw refusal(invalidOut, `/${proxyOutUdp.key}`, 'proxy_out', why)
    }
  })
]
