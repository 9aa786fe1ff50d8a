import type { Resource } from '../../kernel/http/route.ts'
import { ManagedObjectRow } from '../../kernel/identity/entities.ts'
import { Rule } from './entities.ts'
import { objectKeyOf } from './rule-states.ts'

/** A rule in requests. Its version is its revision; one that failed at its creation has none. */
export const resourceOf = (id: string): Resource => ({
  kind: 'rule',
  id,
  async version(em) {
    const rule = await em.findOne(Rule, { id })
    if (!rule) return null
    const held = await em.findOne(ManagedObjectRow, objectKeyOf(rule))
    return held ? held.revision : [rule.updatedAt]
  }
})
