// One change of a rule. PUT, PUT of a definition, PATCH, pause, resume and bulk changes are all an Edit.
import type { Values } from '../api/rule-record.ts'
import type { ChangeQuery, DefinitionBody, PatchBody, UpdateBody } from '../api/schema.ts'
import type { ExistingMode, Rule } from '../entities.ts'
import type { ChangeBy } from '../fields/fields.ts'
import type { Draft } from './parse-draft.ts'

interface EditOptions {
  readonly existing?: ExistingMode | undefined // default: keep
  readonly ackSecs?: number | undefined // how long to wait for the clients
}

/**
 * The mode says how the body is read, and what the agent must be capable of.
 *
 * - `hot` (PUT): the fields that PUT changes, such as `rate_limit`, alone or in a whole rule. Any agent takes it; a failed
 *   rule is not retried.
 * - `live` (PATCH): a merge patch of the rule. Needs an agent that changes open rules.
 * - `replace` (PUT of a definition): a whole rule. Needs a connected client, and takes any agent, which may close the
 *   port for a moment.
 */
export type Edit = EditOptions &
  (
    | { readonly mode: 'hot'; readonly body: UpdateBody }
    | { readonly mode: 'live'; readonly body: PatchBody }
    | { readonly mode: 'replace'; readonly body: DefinitionBody }
  )

/** How a judged edit is applied. */
export interface EditCall extends ChangeBy {
  readonly mode: Edit['mode']
  readonly existing: ExistingMode
  readonly patch?: Values | undefined // as given, in mode `live`
}

/** A rule with the value or null of every loaded field. */
export interface StoredRule {
  readonly rule: Rule
  readonly values: Values
}

/** The rule that an edit asks for, with the value or null of every loaded field. */
export interface WantedRule extends Draft, Pick<Rule, 'placedBy' | 'isExempt' | 'paused'> {
  readonly values: Values
}

/** Returns the edit of a PATCH, a pause, or an item of a bulk change. */
export const liveEdit = (body: PatchBody, { existing, ack_timeout_secs: ackSecs }: ChangeQuery): Edit => ({
  mode: 'live',
  body,
  existing,
  ackSecs
})
