// The server half: the weights of the rule's targets, which can change while the rule runs.
import { defineCode, definePlugin, Fault, rules } from 'sluice/plugin'
import { field } from './field.ts'

const invalid = defineCode('validation.least_connections', 400, 3)
const missing = defineCode('validation.least_connections_missing', 400, 3)

function refuse(why: string): never {
  throw new Fault(invalid, `/${field.key} ${why}`, { details: { field: `/${field.key}`, reason: 'weights' } })
}

const leastConnections = rules.ruleField({
  ...field,
  change: 'hot',
  updateEmpty: missing,
  parse(weights, { targets }) {
    if (targets.length < 2)
      refuse('spreads connections over several targets, but the rule has one; omit the field')
    if (weights.length !== targets.length)
      refuse(`has ${weights.length} weights for ${targets.length} targets; give one for each`)
    if (weights.every(weight => weight === 0))
      refuse('is 0 for every target; give at least one a positive weight')
    return weights
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
  fills: [leastConnections]
})
