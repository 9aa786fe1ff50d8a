import { readFileSync } from 'node:fs'

/** An error code: what it means and what to do. */
export interface ExplainedError {
  /** Absent for codes of the control stream only. */
  readonly http?: number
  readonly exit?: number
  readonly by: string // 'kernel', 'agent', or the plugin that owns it
  readonly when: string
  readonly remedy: string
}

export type ErrorIndex = Readonly<Record<string, ExplainedError>>

/** Reads the output of `npm run errors`. */
export const readErrorIndex = (): ErrorIndex =>
  JSON.parse(readFileSync(new URL('./error-index.json', import.meta.url), 'utf8')) as ErrorIndex // written by npm run errors
