import type { Principal } from '../../../kernel/http/principal.ts'
import type { Values } from '../api/rule-record.ts'
import type { DefinitionBody } from '../api/schema.ts'
import type { Fields } from '../fields/fields.ts'
import { type Draft, parseDraft } from './parse-draft.ts'

interface ParsedRule {
  readonly draft: Draft // with the paths of targets
  readonly values: Values // without null
}

/** Parses the body of a new rule. Throws the faults that depend on the body alone. */
export function parseRule(fields: Fields, body: DefinitionBody, principal: Principal): ParsedRule {
  const draft = parseDraft(body, fields.distinguishingTargets())
  const values = fields.parse(body, draft, principal)
  return { draft: { ...draft, targets: fields.withPaths(draft.targets, values) }, values }
}
