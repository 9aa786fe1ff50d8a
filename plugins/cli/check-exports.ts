// The exports for checks of the plugin `doctor`: of a machine that runs, or will run, a server or an agent. They load nothing else.
import { defineSlot } from '../../kernel/slot.ts'

/** The server or agent to check. */
export interface DoctorContext {
  readonly role: 'server' | 'agent'
  /** The data directory of the server, or the state directory of the agent. */
  readonly dir: string
  /** Top-level keys of the configuration, validated, with defaults. `plugins` of a server has the keys of each plugin by its name. */
  readonly keys: Readonly<Record<string, unknown>>
  /** True if another process has locked the directory: a running server or agent, or a command such as restore. */
  readonly isRunning: boolean
  readonly now: number // ms since 1970
  readonly host: Host
  /** Queries a table of the server's store. Returns no rows if the store or the table does not exist yet. */
  readonly query: <R>(table: string, sql: string) => Promise<readonly R[]>
  /** Returns the metrics of the running server or agent, or null if none runs or serves metrics. */
  readonly metrics: () => Promise<readonly Sample[] | null>
}

/** The machine to check. Tests replace it. */
export interface Host {
  /** Returns the text of a system file, such as /proc/sys/fs/pipe-max-size, or null if it is unreadable. */
  read(path: string): string | null
  /** Returns the standard output of a program, or null if it is missing or fails. */
  ask(program: string, ...args: readonly string[]): Promise<string | null>
  /** Returns the free space on the filesystem of an existing directory. */
  space(dir: string): Promise<Space>
  nameServers(): readonly string[]
}

interface Space {
  readonly bytes: number
  readonly files: number | null // free inodes; null: the filesystem does not count them
  readonly isReadOnly: boolean
}

/** A line of /metrics. */
export interface Sample {
  readonly name: string
  readonly labels: Readonly<Record<string, string>>
  readonly value: number
}

export interface FindingKind {
  readonly status: 'warn' | 'fail'
  readonly when: string // for the documentation
  readonly remedy: string // one line for the operator
}

/** The result of a check: a success, or a finding, which may replace the remedy of its kind. */
export type Finding<Id extends string = string> =
  | { readonly ok: string }
  | { readonly id: Id; readonly message: string; readonly remedy?: string }

/** `Id`: the ids of findings, such as 'disk.low'. An id never changes its meaning. */
export interface DoctorCheck<Id extends string = string> {
  readonly name: string // 'disk'
  readonly roles: readonly DoctorContext['role'][]
  readonly findings: Readonly<Record<Id, FindingKind>>
  /** A thrown error becomes the finding 'check.failed'. */
  run(context: DoctorContext): Promise<readonly Finding<Id>[]>
}

export const defineCheck = <Id extends string>(check: DoctorCheck<Id>): DoctorCheck =>
  check as unknown as DoctorCheck // `findings` declares every id that `run` returns

/** A command reads this slot without services: use `fill`, not `fillWith`. */
export const checkSlot = defineSlot<DoctorCheck>('doctor.check', {
  ifOwnerMissing: 'inert',
  keyOf: ({ name }) => name
})
