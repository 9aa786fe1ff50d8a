// Explains which rule on a port with TLS names takes a caller.
import { type ExplainedCaller, type Explainer, explainSlot, type RuleRecord } from '../rules/exports.ts'
import { sniFallback, sniPattern } from './fields.ts'
import { covers } from './pattern.ts'

const rulePattern = (rule: RuleRecord): string | null => (rule[sniPattern.key] ?? null) as string | null
const isFallback = (rule: RuleRecord): boolean => rule[sniFallback.key] === true

const explainer: Explainer = {
  choose(rules, { sni }: ExplainedCaller) {
    const inForce = rules.filter(({ state }) => state !== 'failed') // other rules take the callers of a failed rule
    const candidates = inForce.length > 0 ? inForce : rules
    const named = candidates.filter(rule => rulePattern(rule) !== null)
    const fallback = candidates.find(isFallback)
    if (named.length === 0 && !fallback) return null
    const exact = named.find(rule => rulePattern(rule) === sni)
    const wildcard = named.find(rule => sni !== null && covers(rulePattern(rule) ?? '', sni))
    const chosen = exact ?? wildcard ?? fallback
    if (chosen) return { rule: chosen }
    const names = named.map(rulePattern).join(', ')
    const text =
      sni === null
        ? `this port is for TLS names (${names}): callers without TLS, or without a name, are refused`
        : `no rule on this port matches ${sni}; there are rules for ${names}`
    const id = `tcp/${named[0]?.listen_port}`
    return { stop: { kind: 'port', id, verdict: 'stop', reason: 'sni_miss', text } }
  },

  async explain({ rule, sni }) {
    const pattern = rulePattern(rule)
    if (pattern === null && !isFallback(rule)) return []
    const text =
      pattern === null
        ? `the fallback takes ${sni ?? 'callers without TLS, and silent ones after 3 s'}`
        : `${sni} matches ${pattern}`
    return [{ kind: 'sni', id: rule.rule_id, verdict: 'pass', reason: null, text }]
  }
}

export const explains = explainSlot.fill(explainer)
