// Checks of a machine that runs a server or an agent, or shall.
import { defineSlot } from '../../kernel/slot.ts'
import type { Host } from './host.ts'

/** The server or agent that is examined. */
export interface DoctorContext {
  readonly role: 'server' | 'agent'
  /** The data directory of the server, or the state directory of the agent. */
  readonly dir: string
  /** Top-level keys of the configuration, with defaults, checked. */
  readonly keys: Readonly<Record<string, unknown>>
  /** True if another process has locked the directory: a running server or agent, or a command such as restore. */
  readonly isRunning: boolean
  readonly now: number // ms since 1970
  readonly host: Host
  /** Returns rows of a table of the server's store; none if there is no store or no such table yet. */
  readonly query: <R>(table: string, sql: string) => Promise<readonly R[]>
  /** Returns the metrics of the running server or agent; null where none runs, or it does not serve them. */
  readonly metrics: () => Promise<readonly Sample[] | null>
}

/** A line of /metrics. */
export interface Sample {
  readonly name: string
  readonly labels: Readonly<Record<string, string>>
  readonly value: number
}

/** A kind of finding. */
export interface FindingKind {
  readonly status: 'warn' | 'fail'
  readonly when: string // for the documentation
  readonly remedy: string // what to do, as a line for the operator
}

/** The result of a check: a success, or a finding with an optional remedy more specific than that of its kind. */
export type Finding<Id extends string = string> =
  | { readonly ok: string }
  | { readonly id: Id; readonly message: string; readonly remedy?: string }

/** `Id`: 'disk.low', stable, and never used for another finding. */
export interface DoctorCheck<Id extends string = string> {
  readonly name: string // 'disk'
  readonly of: readonly DoctorContext['role'][]
  readonly findings: Readonly<Record<Id, FindingKind>>
  /** An error that it throws is the finding 'check.failed' with the error's message. */
  run(context: DoctorContext): Promise<readonly Finding<Id>[]>
}

export const defineCheck = <Id extends string>(check: DoctorCheck<Id>): DoctorCheck =>
  check as unknown as DoctorCheck // `findings` has each id that `run` returns

/** Read by a command, without services: use `fill`, not `fillWith`. */
export const checkSlot = defineSlot<DoctorCheck>('doctor.check', { keyOf: ({ name }) => name })
