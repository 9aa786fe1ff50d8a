// Shared by both halves: the key, the capability, and what the agent receives.
import { type Capability, defineMessage, Type } from 'sluice/agent-plugin'

export const key = 'least_connections'
export const capability: Capability = { id: 'rule.least-connections', since: '1.0.0' }

export const maxWeight = 256
const PerTarget = (maximum: number) => Type.Array(Type.Integer({ minimum: 0, maximum }), { maxItems: 64 })

/** By target, in the order in which agents have them: by priority. */
export const Spread = defineMessage({
  name: 'least_connections.Spread',
  proto: new URL('./least_connections.proto', import.meta.url),
  body: Type.Object({ tiers: PerTarget(1_000_000), weights: PerTarget(maxWeight) })
})
