import { Type } from 'typebox'
import { maxTargetMatches, TargetMatch } from '../../agent/wire/target-match.ts'
import { type Capability, defineMessage } from '../../kernel/wire/message.ts'

export const key = 'grant_targets'
export const capability: Capability = { id: 'rule.target-filter', since: '2.0.0' }

export const Targets = defineMessage({
  name: 'sluice.grants.Targets',
  proto: new URL('./grants.proto', import.meta.url),
  body: Type.Object({ allow: Type.Array(TargetMatch, { maxItems: maxTargetMatches }) })
})
export type Match = TargetMatch
