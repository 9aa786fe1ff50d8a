// What plugins decide about the callers of a rule, for the plugin that is asked why nothing happens.
import type { EntityManager } from '@mikro-orm/sql'
import { defineSlot } from '../../../kernel/slot.ts'
import type { RuleRecord } from './rule-record.ts'

/** One decision about a caller. */
export interface ExplainStep {
  readonly kind: string // what decides: 'rule', 'grant', 'quota'
  readonly id: string // of the object that decides
  readonly verdict: 'pass' | 'stop' | 'info' // 'stop': the caller comes no further
  readonly reason: string | null // of a stop the code that the API, states or statistics have for it
  readonly text: string // a sentence for its user
}

/** A caller of a port, of whom somebody asks what becomes of them. */
export interface ExplainedCaller {
  readonly port: number
  readonly source: string | null // their address; null: nobody in particular
  readonly sni: string | null // the TLS server name that they ask for, in lower case; null: none
}

/** A caller of a rule that its reader may see. */
export interface ExplainedRule extends ExplainedCaller {
  readonly rule: RuleRecord
  readonly clientId: string
  readonly id: string // of the rule on this client: of one on several clients the id of its part
  readonly placedBySuperadmin: boolean
}

export type RuleChoice = { readonly rule: RuleRecord } | { readonly stop: ExplainStep }

export interface Explainer {
  /** Of rules that share a port: returns the one that a caller meets, or why there is none. null: they do not share it so. */
  choose?(rules: readonly RuleRecord[], caller: ExplainedCaller): RuleChoice | null
  /** Returns what this plugin decides about the caller of a rule that is in force, by what the server knows. */
  explain?(asked: ExplainedRule, em: EntityManager): Promise<readonly ExplainStep[]>
}

export const explainSlot = defineSlot<Explainer>('explain.step', { ifOwnerMissing: 'inert' })
