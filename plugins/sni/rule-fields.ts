// The server half of the fields: decides which rules may have them.
import { defineCode, Fault } from '../../kernel/base/errors.ts'
import { type RuleDraft, ruleField } from '../rules/exports.ts'
import { sniFallback, sniPattern } from './fields.ts'
import { parsePattern, patternMalformed } from './pattern.ts'

export const unsupported = defineCode('sni_unsupported_by_client', 422, 3)
export const onUnsupportedRule = defineCode('validation.sni_on_unsupported_rule', 400, 3)

export const ruleFields = [
  ruleField({
    ...sniPattern,
    change: 'frozen',
    refusal: unsupported,
    errors: [onUnsupportedRule, patternMalformed],
    distinguishes: true,
    parse(given, rule) {
      requireTlsPort(rule, sniPattern.key)
      return parsePattern(given)
    }
  }),
  ruleField({
    ...sniFallback,
    change: 'frozen',
    absent: false,
    refusal: unsupported,
    errors: [onUnsupportedRule],
    distinguishes: true,
    parse(isFallback, rule, { [sniPattern.key]: name = null }) {
      if (!isFallback) return null
      requireTlsPort(rule, sniFallback.key)
      if (name !== null) throw refusal(sniFallback.key, `is for a rule without ${sniPattern.key}`, 'pattern')
      return true
    }
  })
]

function requireTlsPort({ protocol, listenFrom, listenTo }: RuleDraft, key: string): void {
  if (protocol !== 'tcp') throw refusal(key, 'is for TCP rules', 'protocol')
  if (listenTo !== listenFrom) throw refusal(key, 'is for rules of one port', 'range')
}

const refusal = (key: string, why: string, reason: string): Fault =>
  new Fault(onUnsupportedRule, `/${key} ${why}`, { details: { field: `/${key}`, reason } })
