// Checks of a machine, with or without a running server.
import { defineSlot } from '../../kernel/slot.ts'

/** The server that is examined. */
export interface DoctorContext {
  readonly dataDir: string
  /** Top-level keys of the configuration, with defaults, checked. */
  readonly keys: Readonly<Record<string, unknown>>
  /** True if another process has locked the data directory: a running server, or a command such as restore. */
  readonly isRunning: boolean
}

/** The result of a check; `remedy` says what to do. */
export type Finding =
  | { readonly status: 'ok'; readonly message: string }
  | { readonly status: 'warn' | 'fail'; readonly message: string; readonly remedy: string }

export interface DoctorCheck {
  readonly name: string // 'ports'
  /** An error that it throws is a 'fail' with the error's message. */
  run(context: DoctorContext): Promise<Finding | readonly Finding[]>
}

/** Read by a command, without services: use `fill`, not `fillWith`. */
export const checkSlot = defineSlot<DoctorCheck>('doctor.check', { keyOf: ({ name }) => name })
