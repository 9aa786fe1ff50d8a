import { savedObjects } from '../../../agent/objects/saved-objects.ts'
import { openCodec } from '../../../kernel/wire/codec.ts'
import { RulePush, ruleKind } from '../wire.ts'

export type SavedRule = Pick<RulePush, 'rule_id' | 'listen_from' | 'listen_to' | 'targets'>

/** Reads the rules in the state directory of an agent, which may be running. Returns none if there is no state. */
export function savedRules(dir: string): readonly SavedRule[] {
  const codec = openCodec([RulePush])
  return savedObjects(dir, ruleKind).map(bytes => codec.decode(RulePush, bytes))
}
