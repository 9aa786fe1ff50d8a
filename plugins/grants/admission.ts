// Grants as rules uses them: who may place which rule, and to which targets agents may connect.
import { defineCode } from '../../kernel/base/errors.ts'
import { Client } from '../../kernel/identity/entities.ts'
import { type Admission, derivedField } from '../rules/exports.ts'
import { admit, allowedTargets } from './coverage.ts'
import { Grant } from './entities.ts'
import { capability, key, Targets } from './wire.ts'

export const targetFilterUnsupported = defineCode('target_filter_unsupported_by_client', 422, 3)

export const admission: Admission = {
  async clients(userId, em) {
    const grants = await em.find(Grant, { userId }, { fields: ['clientId'] })
    const ids = grants.flatMap(({ clientId }) => clientId ?? [])
    if (ids.length === grants.length) return ids
    return (await em.find(Client, {}, { fields: ['id'] })).map(({ id }) => id)
  },
  async admit(rule, em) {
    admit(await em.find(Grant, { userId: rule.owner }), rule)
  }
}

/** The target lists of the grants that cover a rule; a rule without a list may go anywhere. */
export const grantTargets = derivedField({
  key,
  requires: { capability, refusal: targetFilterUnsupported },
  message: Targets,
  async derive(rules, em) {
    const bound = rules.filter(({ placedBySuperadmin }) => !placedBySuperadmin)
    const owners = [...new Set(bound.map(({ owner }) => owner))]
    const grants = await em.find(Grant, { userId: { $in: owners } })
    const lists = bound.map(rule => [rule.id, allowedTargets(grants, rule)] as const)
    return new Map(lists.flatMap(([id, list]) => (list ? [[id, { allow: [...list] }]] : [])))
  }
})
