// The server half of the fields. A change, even of weights, applies to new connections.
import type { Static } from 'typebox'
import { Fault } from '../../kernel/base/errors.ts'
import { type RuleCore, ruleField } from '../rules/exports.ts'
import { balance, invalidBalance, type Spread, slowConnect, slowStart, sourcePrefix } from './fields.ts'

type Algorithm = Static<typeof balance.body>

function spreadOver({ targets }: Pick<RuleCore, 'targets'>, algorithm: Algorithm): Spread {
  const byPriority = targets.toSorted((a, b) => a.priority - b.priority)
  const weights = byPriority.map(({ weight = 1 }) => weight)
  return {
    by: algorithm === 'weighted' || algorithm === 'priority' ? 'round_robin' : algorithm,
    tiers: byPriority.map(({ priority }) => priority),
    weights: algorithm === 'round_robin' ? weights.map(weight => Math.min(1, weight)) : weights
  }
}

type Option = Pick<typeof slowConnect, 'capability' | 'body'> & { readonly key: string }

/** A field that needs a balance, or one value of it. */
function optionField(option: Option, needed?: Algorithm) {
  return ruleField({
    ...option,
    change: 'frozen',
    errors: [invalidBalance],
    parse(value: number, _rule, { [balance.key]: given = null }) {
      const isMet = needed === undefined ? given !== null && given !== 'priority' : given === needed
      if (isMet) return value
      const remedy =
        needed === undefined
          ? `a ${balance.key}; give one, or leave it out`
          : `${balance.key} ${needed}; leave it out`
      throw new Fault(invalidBalance, `/${option.key} is for rules with ${remedy}`, {
        details: { field: `/${option.key}`, reason: balance.key }
      })
    }
  })
}

export const ruleFields = [
  ruleField({
    ...balance,
    change: 'frozen',
    errors: [invalidBalance],
    parse: algorithm => (algorithm === 'priority' ? null : algorithm),
    encode: (algorithm, rule) => spreadOver(rule, algorithm)
  }),
  optionField(slowConnect),
  optionField(slowStart),
  optionField(sourcePrefix, 'source_hash')
]
