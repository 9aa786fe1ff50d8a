// Shared by both halves: the key, the capability, and what the agent receives.
import { type Static, Type } from 'typebox'
import { type Capability, defineMessage } from '../../kernel/wire/message.ts'

export const key = 'balance'
export const capability: Capability = { id: 'rule.balance', since: '2.1.0' }

/** How a target is chosen, without the weights. */
export const By = Type.Union([
  Type.Literal('round_robin'),
  Type.Literal('least_connections'),
  Type.Literal('source_hash'),
  Type.Literal('random_two')
])
export type By = Static<typeof By>

const maxTargets = 8
const perTarget = (maximum: number) =>
  Type.Array(Type.Integer({ minimum: 0, maximum }), { maxItems: maxTargets })

/** By target, in the order in which agents have them: by priority. */
export const Spread = defineMessage({
  name: 'sluice.balance.Spread',
  proto: new URL('./balance.proto', import.meta.url),
  body: Type.Object({ by: By, tiers: perTarget(65_535), weights: perTarget(256) })
})
