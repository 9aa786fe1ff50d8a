import type { Log } from '../kernel/base/log.ts'
import { logged } from './repeated-changes.ts'

export interface LogLine {
  readonly level: string
  readonly event: string
  readonly message: string
  readonly fields: Readonly<Record<string, unknown>>
}

/** Returns a log that appends to `lines`, and then calls `added`. */
export function recordLog(lines: LogLine[], added = () => {}): Log {
  const put =
    (level: string) =>
    (event: string, message: string, fields: object = {}) => {
      lines.push({ level, event, message, fields: { ...fields } })
      logged.publish(event)
      added()
    }
  return { debug: put('debug'), info: put('info'), warn: put('warn'), error: put('error') }
}
