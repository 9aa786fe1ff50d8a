import type { SlotReader } from '../../../kernel/slot.ts'
import { isGroupRule } from '../entities.ts'
import { ruleFollowerSlot } from '../slots.ts'
import type { DerivedParts } from './derived-parts.ts'

/** Returns derived objects. Their changes also reach the followers of rules. */
export const withFollowers = (parts: DerivedParts, filled: SlotReader): DerivedParts => ({
  ...parts,
  async sync(rules, clients, em) {
    const changed = await parts.sync(rules, clients, em)
    const placed = rules.filter(rule => !isGroupRule(rule))
    const options = { isStored: clients === 'stored' }
    for (const { value: follower } of filled(ruleFollowerSlot))
      if (placed.length > 0) await follower.changed(placed, options, em)
    return changed
  },
  async dropLeaving(rule, em) {
    await parts.dropLeaving(rule, em)
    for (const { value: follower } of filled(ruleFollowerSlot)) await follower.applied(rule, em)
  }
})
