// The rule field `least_connections`, for server and agent.
import { type DeclaredField, Type } from 'sluice/agent-plugin'

const perTarget = (maximum: number) => Type.Array(Type.Integer({ minimum: 0, maximum }), { maxItems: 64 })

export const field = {
  key: 'least_connections',
  capability: { id: 'rule.least-connections', since: '1.0.0' },
  body: Type.Array(Type.Integer({ minimum: 0, maximum: 256 }), {
    maxItems: 64,
    description: 'Weights of the targets, in their order. A target with weight 0 gets no new connections.',
    examples: [[2, 1]]
  }),
  /** One per target, in the order of the agent: by priority. */
  sent: Type.Object({ tiers: perTarget(1_000_000), weights: perTarget(256) })
} satisfies DeclaredField
