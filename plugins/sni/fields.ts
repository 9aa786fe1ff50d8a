// The two fields by which rules share a port.
import type { EntityManager } from '@mikro-orm/sql'
import { Type } from 'typebox'
import { defineCode, Fault } from '../../kernel/base/errors.ts'
import { type RuleDraft, ruleField } from '../rules/exports.ts'
import { SniFallback, SniPattern } from './entities.ts'
import { parsePattern, patternMalformed } from './pattern.ts'
import { capability, Fallback, fallbackKey, Pattern, patternKey } from './wire.ts'

export const unsupported = defineCode('sni_unsupported_by_client', 422, 3)
export const onUnsupportedRule = defineCode('validation.sni_on_unsupported_rule', 400, 3)

const requires = { capability, refusal: unsupported }

export async function loadPatterns(ids: readonly string[], em: EntityManager) {
  const rows = await em.find(SniPattern, { rule: { $in: [...ids] } })
  return new Map(rows.map(({ rule, pattern }) => [rule, pattern]))
}

export const pattern = ruleField({
  key: patternKey,
  change: 'frozen',
  body: Type.String({
    code: patternMalformed.code,
    description: "A TLS server name, or '*.' and a domain, which matches names with one more label.",
    examples: ['shop.example.org']
  }),
  requires,
  message: Pattern,
  errors: [onUnsupportedRule, patternMalformed],
  distinguishes: true,
  parse(given, rule) {
    requireTlsPort(rule, patternKey)
    return parsePattern(given)
  },
  async check() {},
  async save(rule, pattern, em) {
    await em.insert(SniPattern, { rule, pattern })
  },
  async clear(rule, em) {
    await em.nativeDelete(SniPattern, { rule })
  },
  load: loadPatterns,
  encode: pattern => ({ pattern })
})

export const fallback = ruleField({
  key: fallbackKey,
  change: 'frozen',
  body: Type.Boolean({ description: 'Takes connections without TLS or a matching name on its port.' }),
  absent: false,
  requires,
  message: Fallback,
  errors: [onUnsupportedRule],
  distinguishes: true,
  parse(isFallback, rule, { [patternKey]: name = null }) {
    if (!isFallback) return null
    requireTlsPort(rule, fallbackKey)
    if (name !== null) throw refusal(fallbackKey, `is for a rule without ${patternKey}`, 'pattern')
    return true
  },
  async check() {},
  async save(rule, _, em) {
    await em.insert(SniFallback, { rule })
  },
  async clear(rule, em) {
    await em.nativeDelete(SniFallback, { rule })
  },
  async load(ids, em) {
    const rows = await em.find(SniFallback, { rule: { $in: [...ids] } })
    return new Map(rows.map(({ rule }) => [rule, true]))
  },
  encode: () => ({})
})

function requireTlsPort({ protocol, listenFrom, listenTo }: RuleDraft, key: string): void {
  if (protocol !== 'tcp') throw refusal(key, 'is for TCP rules', 'protocol')
  if (listenTo !== listenFrom) throw refusal(key, 'is for rules of one port', 'range')
}

const refusal = (key: string, why: string, reason: string): Fault =>
  new Fault(onUnsupportedRule, `/${key} ${why}`, { details: { field: `/${key}`, reason } })
