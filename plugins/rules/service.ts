// The service `rules` as other plugins see it.
import type { EntityManager, FilterQuery } from '@mikro-orm/sql'
import { defineCode } from '../../kernel/base/errors.ts'
import type { Principal } from '../../kernel/http/principal.ts'
import type { Rule } from './entities.ts'
import type { RuleRecord } from './record.ts'
import type { RuleCore, RuleOwnership } from './rule-field.ts'

export const ruleNotFound = defineCode('rule_not_found', 404, 8)

/** Logs, and wakes agents. Must be called after the commit of the transaction, and only then. */
export type AfterCommit = () => void

export interface RuleCount {
  readonly total: number
  readonly active: number
  readonly failed: number
}

export interface Rules {
  /** Returns one rule as its owner or a superadmin sees it; throws `rule_not_found` or `not_owner`. */
  read(id: string, principal: Principal): Promise<RuleRecord>
  /** Counts the rules that the caller may see. */
  count(principal: Principal, em: EntityManager): Promise<RuleCount>
  /** Returns client and owner by rule id; ids without a rule are left out. */
  ownershipOf(ids: readonly string[], em: EntityManager): Promise<Map<string, RuleOwnership>>
  /** Returns up to `take` rules in the order of their ids, which is the order of creation, from behind `after`. */
  page(
    after: string,
    take: number,
    em: EntityManager
  ): Promise<(RuleOwnership & Pick<Rule, 'id' | 'protocol'>)[]>
  /** Returns all matching rules in the order of creation. */
  matching(where: FilterQuery<Rule>, em: EntityManager): Promise<RuleCore[]>
  /** Deletes rules in the caller's transaction. 'drain' lets live connections end, 'cut' resets them. */
  removeAll(
    where: FilterQuery<Rule>,
    em: EntityManager,
    removal: 'drain' | 'cut'
  ): Promise<{ readonly ids: string[]; readonly afterCommit: AfterCommit }>
  /** Computes derived fields again, in the transaction that changed what they are derived from. */
  refresh(where: FilterQuery<Rule>, em: EntityManager): Promise<AfterCommit>
}
