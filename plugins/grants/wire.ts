import { Type } from 'typebox'
import { maxTargetMatches, TargetMatch } from '../../agent/wire/target-match.ts'
import { type Capability, defineMessage } from '../../kernel/wire/message.ts'

export const key = 'grant_targets'
/** The reason of a rule that is closed because no grant covers it any more. */
export const grantLost = 'grant_lost'
export const capability: Capability = { id: 'rule.target-filter', since: '2.0.0' }

export const Targets = defineMessage({
  name: 'sluice.grants.Targets',
  proto: new URL('./grants.proto', import.meta.url),
  body: Type.Object({
    allow: Type.Array(TargetMatch, { maxItems: maxTargetMatches }),
    lost: Type.Optional(Type.Boolean()) // the rule stays closed
  })
})
export type Match = TargetMatch
