import type { EntityManager } from '@mikro-orm/sql'
import type { StatsReport } from '../../agent/wire/journal-report.ts'
import type { Session } from '../../kernel/control/servers.ts'
import type { Principal } from '../../kernel/http/principal.ts'
import { defineSlot } from '../../kernel/slot.ts'
import type { RuleStats, Summary } from './schema.ts'

/** Newly committed counts of a rule in a minute or an hour. Bytes can be 0: a refused connection delivers none. */
export interface CommittedBytes {
  readonly clientId: string
  readonly owner: string
  readonly ruleId: string
  /** Start of the span of delivery, in Unix seconds of the server's clock. */
  readonly startSecs: number
  readonly span: 'minute' | 'hour'
  readonly bytesIn: number
  readonly bytesOut: number
  readonly datagramsIn: number
  readonly datagramsOut: number
  /** Connections and flows that were opened. */
  readonly connections: number
  /** Connections, flows and datagrams that were refused or dropped. */
  readonly refused: number
}

/** Newly committed counts of a target of a rule. Its bytes are also in `CommittedBytes`. */
export interface CommittedTarget {
  readonly clientId: string
  readonly owner: string
  readonly ruleId: string
  readonly target: string // host:port
  /** The latest minute of the rule in the same report, else the time of the commit: agents count targets without times. */
  readonly startSecs: number
  readonly bytesIn: number
  readonly bytesOut: number
  readonly connections: number
}

/** Called after the commit of the transaction. */
export type AfterCommit = () => void

type OnCommitted = (
  bytes: readonly CommittedBytes[],
  em: EntityManager,
  targets: readonly CommittedTarget[]
) => Promise<readonly AfterCommit[]>

/** Called in the ledger's transaction. Gets each committed count exactly once. One of both lists can be empty. */
export const committedSlot = defineSlot<OnCommitted>('stats.committed')

/** A committed position in a client's journal. */
export interface JournalPosition {
  readonly epoch: string
  readonly seq: number
}

export type { RuleStats, Summary }

/** The service `stats`. */
export interface Stats {
  /** Returns the traffic of a rule so far. Throws `rule_not_found`, or `not_owner` if the principal may not read it. */
  ofRule(
    ruleId: string,
    flags: { readonly per_port?: boolean; readonly per_target?: boolean; readonly per_client?: boolean },
    principal: Principal
  ): Promise<RuleStats>
  /** Returns counts and sums over everything that the principal may see. */
  summary(principal: Principal): Promise<Summary>
  /** Resolves after the report is committed. Rejects with Refused if the store fails. */
  ingest(report: StatsReport & Session): Promise<void>
  /** Commits all reports that `ingest` has queued, without waiting for more. */
  flush(): Promise<void>
  /** Asks a connected client to report now and waits for the commit. Rejects with Refused. */
  requestReport(clientId: string, options?: { readonly deadlineMs?: number }): Promise<void>
  /** Returns the position of the client's last committed report, or null before the first. */
  lastCommitted(clientId: string, em: EntityManager): Promise<JournalPosition | null>
}
