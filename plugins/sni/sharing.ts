// Decides which rules may share a port: rules with server names, and one fallback. Any other rule needs the port alone.
import type { EntityManager } from '@mikro-orm/sql'
import { defineCode, Fault, roleRequired } from '../../kernel/base/errors.ts'
import { fieldValues, nameHolder, type PortSharing, type RuleWithFields } from '../rules/exports.ts'
import { sniFallback, sniPattern } from './fields.ts'
import { covers } from './pattern.ts'

export const legacyToSni = defineCode('conflict.legacy_to_sni_unsupported', 409, 5)
export const routeDuplicate = defineCode('conflict.sni_route_duplicate', 409, 5)
export const fallbackDuplicate = defineCode('conflict.sni_fallback_duplicate', 409, 5)

const isFallback = ({ fields }: RuleWithFields): boolean => fields.includes(sniFallback.key)
const isNamed = ({ fields }: RuleWithFields): boolean => fields.includes(sniPattern.key)
const isSni = (rule: RuleWithFields): boolean => isNamed(rule) || isFallback(rule)

export const sharing: PortSharing = {
  errors: [legacyToSni, routeDuplicate, fallbackDuplicate],
  async mayJoin(rule, present, em) {
    const other = present.find(other => isSni(other) !== isSni(rule))
    if (other) throw conflict(legacyToSni, rule, other, whyNotShared(rule))
    if (!isSni(rule)) return false
    checkFallbacks(rule, present)
    if (isNamed(rule)) checkNames(rule, present, await loadPatterns([rule, ...present], em))
    return true
  }
}

type Patterns = ReadonlyMap<string, string>

const loadPatterns = (rules: readonly RuleWithFields[], em: EntityManager): Promise<Patterns> =>
  fieldValues(
    sniPattern,
    em,
    rules.filter(isNamed).map(({ id }) => id)
  )

/** Allows one fallback on a port. Names take traffic from it, so only operators and superadmins may mix it with rules of others. */
function checkFallbacks(rule: RuleWithFields, present: readonly RuleWithFields[]): void {
  const fallback = present.find(isFallback)
  if (fallback && isFallback(rule))
    throw conflict(fallbackDuplicate, rule, fallback, 'is already the fallback of this port')
  if (rule.isExempt) return
  const foreign = present.filter(({ owner }) => owner !== rule.owner)
  if (isFallback(rule) ? foreign[0] : foreign.find(other => isFallback(other) && !other.isExempt))
    throw new Fault(
      roleRequired,
      'only an operator or a superadmin may mix a fallback and rules of another owner: names take traffic from the fallback'
    )
}

function checkNames(rule: RuleWithFields, present: readonly RuleWithFields[], patterns: Patterns): void {
  const pattern = patterns.get(rule.id) ?? ''
  for (const other of present.filter(isNamed)) {
    const otherPattern = patterns.get(other.id) ?? ''
    if (pattern === otherPattern)
      throw conflict(routeDuplicate, rule, other, `already has ${pattern} on this port`)
    if (other.owner !== rule.owner && (covers(pattern, otherPattern) || covers(otherPattern, pattern)))
      throw conflict(routeDuplicate, rule, other, 'has an overlapping name')
  }
}

const whyNotShared = (rule: RuleWithFields): string =>
  isSni(rule)
    ? 'has this port alone, without a server name; it cannot be shared'
    : 'shares this port by server name; a rule without a server name needs another port'

function conflict(
  code: typeof legacyToSni,
  rule: RuleWithFields,
  holder: RuleWithFields,
  problem: string
): Fault {
  const { name, details } = nameHolder(rule, holder)
  return new Fault(code, `${name} ${problem}`, { details })
}
