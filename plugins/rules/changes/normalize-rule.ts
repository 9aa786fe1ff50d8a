import type { Principal } from '../../../kernel/http/principal.ts'
import type { Values } from '../api/rule-record.ts'
import type { DefinitionBody } from '../api/schema.ts'
import type { Services } from '../services.ts'
import { draftBody } from './judge-edit.ts'
import { parseRule } from './parse-rule.ts'
import { requirePlace } from './placement.ts'

/**
 * Returns the body of a create with each value as the record would show it. Throws the faults of a create that depend on the
 * body alone.
 */
export type NormalizeRule = (body: DefinitionBody, principal: Principal) => Values

export const openNormalizeRule =
  ({ fields }: Pick<Services, 'fields'>): NormalizeRule =>
  (body, principal) => {
    const { draft, values } = parseRule(fields, body, principal)
    requirePlace(body.client, values, fields.placing())
    const targets = fields.withTargets(draft.targets, values)
    return { ...body, ...draftBody(draft), targets, paused: body.paused ?? false, ...fields.shown(values) }
  }
