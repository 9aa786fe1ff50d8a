// The rule fields balance, slow_connect_ms, slow_start_secs and source_hash_ipv6_prefix.
import type { Static } from 'typebox'
import { Type } from '../../agent/wire/field-schema.ts'
import type { DeclaredField } from '../../agent/wire/rule-field.ts'
import { defineCode } from '../../kernel/base/errors.ts'

export const invalidBalance = defineCode('validation.balance', 400, 3)

const capability = { id: 'rule.balance', since: '2.1.0' }
/** Agents with it eject targets and give returning targets a small share first. */
const ejectionCapability = { id: 'rule.ejection', since: '2.1.0' }

export const defaults = { slowConnectMs: 250, slowStartSecs: 10 }

const perTarget = (maximum: number) => Type.Array(Type.Integer({ minimum: 0, maximum }), { maxItems: 8 })

/** `tiers` and `weights` have one item per target, sorted by priority as agents sort them. Weight 0 takes no new connections. */
const Spread = Type.Object({
  by: Type.Union([
    Type.Literal('round_robin'),
    Type.Literal('least_connections'),
    Type.Literal('source_hash'),
    Type.Literal('random_two')
  ]),
  tiers: perTarget(65_535),
  weights: perTarget(256)
})
export type Spread = Static<typeof Spread>

export const balance = {
  key: 'balance',
  capability,
  body: Type.Union(
    [
      Type.Literal('priority'),
      Type.Literal('round_robin'),
      Type.Literal('weighted'),
      Type.Literal('least_connections'),
      Type.Literal('source_hash'),
      Type.Literal('random_two')
    ],
    {
      code: invalidBalance.code,
      description:
        'How connections are spread over the targets of one priority; the next priority is the reserve. Null: the first healthy target, by priority.',
      examples: ['round_robin']
    }
  ),
  sent: Spread
} satisfies DeclaredField

export const slowConnect = {
  key: 'slow_connect_ms',
  capability: ejectionCapability,
  body: Type.Integer({
    minimum: 0,
    maximum: 3000,
    description: `A target is ejected for a time if its connects take this much longer than usual in its priority, and three times as long. 0: never. Null: ${defaults.slowConnectMs}.`,
    examples: [100]
  })
} satisfies DeclaredField

export const slowStart = {
  key: 'slow_start_secs',
  capability: ejectionCapability,
  body: Type.Integer({
    minimum: 0,
    maximum: 900,
    description: `How long the share of a returned or new target grows. 0: it has its full share at once. Null: ${defaults.slowStartSecs}.`,
    examples: [60]
  })
} satisfies DeclaredField

export const sourcePrefix = {
  key: 'source_hash_ipv6_prefix',
  capability: ejectionCapability,
  body: Type.Integer({
    minimum: 1,
    maximum: 128,
    description: 'For source_hash: IPv6 callers that share this many first bits keep one target. Null: 128.',
    examples: [64]
  })
} satisfies DeclaredField

export const fields: readonly DeclaredField[] = [balance, slowConnect, slowStart, sourcePrefix]
