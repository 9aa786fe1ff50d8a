import type { EntityManager } from '@mikro-orm/sql'
import type { StatsReport } from '../../agent/wire/journal-report.ts'
import type { Session } from '../../kernel/control/servers.ts'
import type { Principal } from '../../kernel/http/principal.ts'
import { defineSlot } from '../../kernel/slot.ts'
import type { RuleStats, Summary } from './schema.ts'

/** Delivered payload bytes of a rule, committed for the first time. */
export interface CommittedBytes {
  readonly clientId: string
  readonly owner: string
  readonly ruleId: string
  /** Start of the span in which they were delivered: Unix seconds of the server's clock. */
  readonly startSecs: number
  readonly span: 'minute' | 'hour'
  readonly bytesIn: number
  readonly bytesOut: number
}

/** Called when the transaction has been committed. */
export type AfterCommit = () => void

type OnCommitted = (bytes: readonly CommittedBytes[], em: EntityManager) => Promise<readonly AfterCommit[]>

/** Called in the ledger's transaction with the bytes that it commits, each exactly once. */
export const committedSlot = defineSlot<OnCommitted>('stats.committed')

/** How far the journal of a client is committed: its epoch, and the seq within it. */
export interface JournalPosition {
  readonly epoch: string
  readonly seq: number
}

export type { RuleStats, Summary }

/** The service `stats`. */
export interface Stats {
  /** Returns what a rule has forwarded so far. Throws `rule_not_found`, and `not_owner` where the caller may not read it. */
  ofRule(
    ruleId: string,
    more: { readonly per_port?: boolean; readonly per_target?: boolean; readonly per_client?: boolean },
    principal: Principal
  ): Promise<RuleStats>
  /** Returns counts and sums of everything that the caller may see. */
  summary(principal: Principal): Promise<Summary>
  /** Resolves when the report is committed. Rejects with Refused if the store failed. */
  ingest(report: StatsReport & Session): Promise<void>
  /** Commits what `ingest` has gathered, without waiting for more. */
  flush(): Promise<void>
  /** Asks the client, if connected, to report now; waits until that is committed. Rejects with Refused. */
  requestReport(clientId: string, options?: { readonly deadlineMs?: number }): Promise<void>
  /** The last committed report of a client; null before the first. */
  lastCommitted(clientId: string, em: EntityManager): Promise<JournalPosition | null>
}
