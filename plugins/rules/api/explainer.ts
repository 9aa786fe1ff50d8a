// Explanations of plugins: what they decide about a caller of a rule. The plugin `explain` shows them.
import type { EntityManager } from '@mikro-orm/sql'
import { defineSlot } from '../../../kernel/slot.ts'
import type { RuleRecord } from './rule-record.ts'

/** One decision about a caller. */
export interface ExplainStep {
  readonly kind: string // of the deciding object: 'rule', 'grant', 'quota'
  readonly id: string // of the deciding object
  readonly verdict: 'pass' | 'stop' | 'info' // 'stop': the caller gets no further
  readonly reason: string | null // the code of a stop in the API, in states or in statistics
  readonly text: string // a sentence for the user
}

/** A caller of a port to explain. */
export interface ExplainedCaller {
  readonly port: number
  readonly source: string | null // address of the caller; null: any
  readonly sni: string | null // TLS server name in lower case; null: none
}

/** A caller of a rule that the user may see. */
export interface ExplainedRule extends ExplainedCaller {
  readonly rule: RuleRecord
  readonly clientId: string
  readonly id: string // of the rule on this client; for a group rule, the id of its member
  readonly isExempt: boolean
}

export type RuleChoice = { readonly rule: RuleRecord } | { readonly stop: ExplainStep }

export interface Explainer {
  /** Chooses, among rules that share a port, the one for this caller, or says why there is none. null: does not apply. */
  choose?(rules: readonly RuleRecord[], caller: ExplainedCaller): RuleChoice | null
  /** Returns the decisions of this plugin about the caller of a rule in force, as far as the server knows. */
  explain?(asked: ExplainedRule, em: EntityManager): Promise<readonly ExplainStep[]>
}

export const explainSlot = defineSlot<Explainer>('explain.step', { ifOwnerMissing: 'inert' })
