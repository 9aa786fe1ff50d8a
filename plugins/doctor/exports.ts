// What can be looked at on a machine, beside a server that runs and without one.
import { defineSlot } from '../../kernel/slot.ts'

/** What a check stands on. */
export interface Place {
  readonly dataDir: string
  /** Top-level keys of the configuration, with defaults, checked. */
  readonly keys: Readonly<Record<string, unknown>>
  /** A server holds the data directory. */
  readonly isRunning: boolean
}

/** `remedy` says what to do; an 'ok' has none. */
export type Finding =
  | { readonly is: 'ok'; readonly says: string }
  | { readonly is: 'warn' | 'fail'; readonly says: string; readonly remedy: string }

export interface DoctorCheck {
  readonly name: string // 'ports'
  /** What it throws is a 'fail' with its message. */
  run(place: Place): Promise<Finding | readonly Finding[]>
}

/** Filled with bare values: nothing is wired when they are asked. */
export const checkSlot = defineSlot<DoctorCheck>('doctor.check', { keyOf: ({ name }) => name })
