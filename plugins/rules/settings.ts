import { Type } from 'typebox'

export const keys = Type.Object({
  drain_timeout_secs: Type.Integer({
    minimum: 0,
    maximum: 86_400,
    default: 30,
    description: 'How long live connections of a removed rule may continue.'
  }),
  tcp_idle_timeout_secs: Type.Integer({
    minimum: 0,
    maximum: 604_800,
    default: 0,
    description: 'A TCP connection without data in both directions for this time is reset; 0 is never.'
  }),
  max_rules_per_client: Type.Integer({
    minimum: 1,
    default: 10_000,
    hot: true,
    description: 'Rules of one client.'
  }),
  max_rules_per_owner_per_client: Type.Integer({
    minimum: 1,
    default: 1000,
    hot: true,
    description: 'Rules of one owner on one client.'
  })
})
