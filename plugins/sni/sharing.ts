// Rules that have a port together: names may, and one fallback; a plain rule never does.
import type { EntityManager } from '@mikro-orm/sql'
import { defineCode, Fault, roleRequired } from '../../kernel/base/errors.ts'
import type { PortSharing, RuleWithFields } from '../rules/exports.ts'
import { loadPatterns } from './fields.ts'
import { covers, isWildcard } from './pattern.ts'
import { fallbackKey, patternKey } from './wire.ts'

export const legacyToSni = defineCode('conflict.legacy_to_sni_unsupported', 409, 5)
export const routeDuplicate = defineCode('conflict.sni_route_duplicate', 409, 5)
export const fallbackDuplicate = defineCode('conflict.sni_fallback_duplicate', 409, 5)

const isFallback = ({ fields }: RuleWithFields): boolean => fields.includes(fallbackKey)
const isNamed = ({ fields }: RuleWithFields): boolean => fields.includes(patternKey)
const isSni = (rule: RuleWithFields): boolean => isNamed(rule) || isFallback(rule)

export const sharing: PortSharing = {
  async mayJoin(rule, holders, em) {
    const others = holders.filter(holder => isSni(holder) !== isSni(rule))
    if (others[0]) throw clash(legacyToSni, others[0], wordsOf(rule))
    if (!isSni(rule)) return false
    judgeFallbacks(rule, holders)
    if (isNamed(rule)) judgeNames(rule, holders, await patternsOf([rule, ...holders], em))
    return true
  },
  async ranks(rules, em) {
    const patterns = await patternsOf(rules, em)
    return new Map(rules.map(rule => [rule.id, rankOf(rule, patterns)]))
  }
}

type Patterns = ReadonlyMap<string, string>

const patternsOf = (rules: readonly RuleWithFields[], em: EntityManager): Promise<Patterns> =>
  loadPatterns(
    rules.filter(isNamed).map(({ id }) => id),
    em
  )

/** Else a name would go where it should not while its own rule is still shut. */
const rankOf = (rule: RuleWithFields, patterns: Patterns): number => {
  if (isFallback(rule)) return 2
  return isWildcard(patterns.get(rule.id) ?? '') ? 1 : 0
}

/** One a port. Names take traffic from it, so that beside another's rules only a superadmin sets it up. */
function judgeFallbacks(rule: RuleWithFields, holders: readonly RuleWithFields[]): void {
  const twin = holders.find(isFallback)
  if (twin && isFallback(rule)) throw clash(fallbackDuplicate, twin, 'is the fallback of this port already')
  if (rule.placedBySuperadmin) return
  const foreign = holders.filter(({ owner }) => owner !== rule.owner)
  if (
    isFallback(rule) ? foreign[0] : foreign.find(holder => isFallback(holder) && !holder.placedBySuperadmin)
  )
    throw new Fault(
      roleRequired,
      'a fallback beside rules of another owner takes a superadmin: names and fallback share their traffic'
    )
}

function judgeNames(rule: RuleWithFields, holders: readonly RuleWithFields[], patterns: Patterns): void {
  const mine = patterns.get(rule.id) ?? ''
  for (const holder of holders.filter(isNamed)) {
    const theirs = patterns.get(holder.id) ?? ''
    if (mine === theirs) throw clash(routeDuplicate, holder, `has ${mine} on this port already`)
    if (holder.owner !== rule.owner && (covers(mine, theirs) || covers(theirs, mine)))
      throw clash(routeDuplicate, holder, 'of another owner has a name that matches this one, or the reverse')
  }
}

const wordsOf = (rule: RuleWithFields): string =>
  isSni(rule)
    ? 'has this port for itself; it cannot be shared by server names'
    : 'has this port for server names; a rule without one takes a port of its own'

const clash = (row: typeof legacyToSni, { id }: RuleWithFields, why: string): Fault =>
  new Fault(row, `rule ${id} ${why}`, { details: { rule_id: id } })
