// Shared by both halves: the keys, the capabilities, and what the agent receives.
import { type Static, Type } from 'typebox'
import { type Capability, Count, defineMessage } from '../../kernel/wire/message.ts'

const proto = new URL('./balance.proto', import.meta.url)

export const key = 'balance'
export const optionKeys = {
  slowConnectMs: 'slow_connect_ms',
  slowStartSecs: 'slow_start_secs',
  sourcePrefix: 'source_hash_ipv6_prefix'
} as const

export const capability: Capability = { id: 'rule.balance', since: '2.1.0' }
/** The agent ejects targets, and begins slowly with those that return. */
export const ejectionCapability: Capability = { id: 'rule.ejection', since: '2.1.0' }

export const defaults = { slowConnectMs: 250, slowStartSecs: 10 }

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
  proto,
  body: Type.Object({ by: By, tiers: perTarget(65_535), weights: perTarget(256) })
})

export const SlowConnect = defineMessage({
  name: 'sluice.balance.SlowConnect',
  proto,
  body: Type.Object({ ms: Count })
})

export const SlowStart = defineMessage({
  name: 'sluice.balance.SlowStart',
  proto,
  body: Type.Object({ secs: Count })
})

export const SourcePrefix = defineMessage({
  name: 'sluice.balance.SourcePrefix',
  proto,
  body: Type.Object({ bits: Type.Integer({ minimum: 1, maximum: 128 }) })
})

export const messages = [Spread, SlowConnect, SlowStart, SourcePrefix]
