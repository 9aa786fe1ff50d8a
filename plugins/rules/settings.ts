import { Type } from 'typebox'

export const keys = Type.Object({
  drain_timeout_secs: Type.Integer({
    minimum: 0,
    maximum: 86_400,
    default: 30,
    description: 'How long live connections of a removed rule may go on.'
  }),
  tcp_idle_timeout_secs: Type.Integer({
    minimum: 0,
    maximum: 604_800,
    default: 0,
    description: 'A TCP connection that is silent in both directions for so long is reset; 0 is never.'
  }),
  max_rules_per_client: Type.Integer({ minimum: 1, default: 10_000, description: 'Rules of one client.' }),
  max_rules_per_owner_per_client: Type.Integer({
    minimum: 1,
    default: 1000,
    description: 'Of them, rules of one owner.'
  })
})
