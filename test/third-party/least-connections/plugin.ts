// The rule field `least_connections`: the weights of the rule's targets, which may change while it runs.
import { defineCode, defineEntity, definePlugin, Fault, p, rules, Type } from 'sluice/plugin'
import { LeastConnections0001 } from './migrations/0001-weights.ts'
import { capability, key, maxWeight, Spread } from './wire.ts'

const invalid = defineCode('validation.least_connections', 400, 3)
const missing = defineCode('validation.least_connections_missing', 400, 3)

const Weights = defineEntity({
  name: 'LeastConnections',
  tableName: 'least_connections',
  properties: { rule: rules.ruleKey, weights: p.json().$type<number[]>() }
})

function refuse(why: string): never {
  throw new Fault(invalid, `/${key} ${why}`, { details: { field: `/${key}`, reason: 'weights' } })
}

const field = rules.ruleField({
  key,
  change: 'hot',
  updateEmpty: missing,
  body: Type.Array(Type.Integer({ minimum: 0, maximum: maxWeight }), {
    maxItems: 64,
    description: 'Weights of the targets, in their order. 0 keeps new connections away.',
    examples: [[2, 1]]
  }),
  requires: { capability, refusal: rules.fieldUnsupported },
  message: Spread,
  parse(weights, { targets }) {
    if (targets.length < 2) refuse('spreads connections over several targets, and there is one; leave it out')
    if (weights.length !== targets.length)
      refuse(`has ${weights.length} weights for ${targets.length} targets; give one for each`)
    if (weights.every(weight => weight === 0))
      refuse('is 0 for every target; give one that takes connections')
    return weights
  },
  async check() {},
  async save(rule, weights, em) {
    await em.upsert(Weights, { rule, weights })
  },
  async clear(rule, em) {
    await em.nativeDelete(Weights, { rule })
  },
  async load(ids, em) {
    const rows = await em.find(Weights, { rule: { $in: [...ids] } })
    return new Map(rows.map(({ rule, weights }) => [rule, weights]))
  },
  encode(weights, { targets }) {
    const rows = targets.map(({ priority }, i) => ({ tier: priority, weight: weights[i] ?? 0 }))
    const inOrder = rows.toSorted((a, b) => a.tier - b.tier)
    return { tiers: inOrder.map(({ tier }) => tier), weights: inOrder.map(({ weight }) => weight) }
  }
})

export default definePlugin({
  name: 'least-connections',
  version: '1.0.0',
  kernel: '^2.0.0',
  needs: { rules: '^1.0.0' },
  codes: [invalid, missing],
  store: { entities: [Weights], migrations: [{ name: '0001-weights', class: LeastConnections0001 }] },
  fills: [field],
  messages: [Spread]
})
