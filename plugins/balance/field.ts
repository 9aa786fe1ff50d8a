// The rule field `balance`. A change of it, and of weights, counts for new connections.
import { type Static, Type } from 'typebox'
import { defineCode } from '../../kernel/base/errors.ts'
import { fieldUnsupported, type RuleCore, ruleField } from '../rules/exports.ts'
import { Balance } from './entities.ts'
import { type By, capability, key, Spread } from './wire.ts'

export const invalidBalance = defineCode('validation.balance', 400, 3)

const algorithms = [
  'priority',
  'round_robin',
  'weighted',
  'least_connections',
  'source_hash',
  'random_two'
] as const
type Algorithm = (typeof algorithms)[number]

/** In turn, whatever the weights: but 0 takes no new connections. */
const inTurn = (weight: number): number => Math.min(1, weight)

function spreadOf(algorithm: Algorithm, { targets }: Pick<RuleCore, 'targets'>): Static<typeof Spread.body> {
  const inOrder = targets.toSorted((a, b) => a.priority - b.priority)
  const weights = inOrder.map(({ weight = 1 }) => weight)
  return {
    by: algorithm === 'weighted' ? 'round_robin' : (algorithm as By),
    tiers: inOrder.map(({ priority }) => priority),
    weights: algorithm === 'round_robin' ? weights.map(inTurn) : weights
  }
}

export const field = ruleField({
  key,
  change: 'frozen',
  body: Type.Unsafe<Algorithm>(
    Type.Union(
      algorithms.map(name => Type.Literal(name)),
      {
        code: invalidBalance.code,
        description:
          'How connections are spread over the targets of one priority; the next priority is the reserve. Null: one after the other, by priority.',
        examples: ['round_robin']
      }
    )
  ),
  requires: { capability, refusal: fieldUnsupported },
  message: Spread,
  errors: [invalidBalance],
  parse: algorithm => (algorithm === 'priority' ? null : algorithm),
  async check() {},
  async save(rule, algorithm, em) {
    await em.upsert(Balance, { rule, algorithm })
  },
  async clear(rule, em) {
    await em.nativeDelete(Balance, { rule })
  },
  async load(ids, em) {
    const rows = await em.find(Balance, { rule: { $in: [...ids] } })
    return new Map(rows.map(({ rule, algorithm }) => [rule, algorithm as Algorithm]))
  },
  encode: spreadOf
})
