import type { Log } from '../../kernel/base/log.ts'

export interface LogLine {
  readonly level: string
  readonly event: string
  readonly message: string
  readonly fields: Readonly<Record<string, unknown>>
}

/** A log that a test can wait on. */
export interface RecordedLog extends Log {
  readonly lines: LogLine[]
  count(event: string): number
  /** The `nth` line of this event, from 1 on. */
  until(event: string, nth?: number): Promise<LogLine>
}

export function recordLog(): RecordedLog {
  const lines: LogLine[] = []
  const waiting = new Set<() => void>()
  const put =
    (level: string) =>
    (event: string, message: string, fields: object = {}) => {
      lines.push({ level, event, message, fields: { ...fields } })
      for (const look of waiting) look()
    }
  const of = (event: string): LogLine[] => lines.filter(line => line.event === event)
  return {
    lines,
    debug: put('debug'),
    info: put('info'),
    warn: put('warn'),
    error: put('error'),
    count: event => of(event).length,
    until: (event, nth = 1) =>
      new Promise(resolve => {
        const look = (): void => {
          const line = of(event)[nth - 1]
          if (!line) return
          waiting.delete(look)
          resolve(line)
        }
        waiting.add(look)
        look()
      })
  }
}
