import { readFileSync } from 'node:fs'

/** An error code: what it means and what to do. */
export interface ExplainedError {
  /** Absent for what only the control stream has. */
  readonly http?: number
  readonly exit?: number
  readonly by: string // 'kernel', 'agent', or the plugin that owns it
  readonly when: string
  readonly remedy: string
}

export type ErrorIndex = Readonly<Record<string, ExplainedError>>

/** Reads what `npm run errors` has written. */
export const readErrorIndex = (): ErrorIndex =>
  JSON.parse(readFileSync(new URL('./error-index.json', import.meta.url), 'utf8')) as ErrorIndex // as it was made
