import type { Principal } from '../../../kernel/http/principal.ts'
import type { Values } from '../api/rule-record.ts'
import type { DefinitionBody } from '../api/schema.ts'
import type { Services } from '../services.ts'
import { draftBody } from './judge-edit.ts'
import { parseDraft } from './parse-draft.ts'
import { requirePlace } from './placement.ts'

/**
 * Returns the body of a create with each value as the record would show it. Throws the faults of a create that depend on the
 * body alone.
 */
export type NormalizeRule = (body: DefinitionBody, principal: Principal) => Values

export const openNormalizeRule =
  ({ fields }: Pick<Services, 'fields'>): NormalizeRule =>
  (body, principal) => {
    const draft = parseDraft(body)
    const values = fields.parse(body, draft, principal)
    requirePlace(body.client, values, fields.placing())
    return { ...body, ...draftBody(draft), paused: body.paused ?? false, ...fields.shown(values) }
  }
