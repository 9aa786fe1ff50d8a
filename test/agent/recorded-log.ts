import type { Log } from '../../kernel/base/log.ts'

export interface LogLine {
  readonly level: string
  readonly event: string
  readonly message: string
  readonly fields: Readonly<Record<string, unknown>>
}

/** A log that records its lines; a test can wait for one. */
export interface RecordedLog extends Log {
  readonly lines: LogLine[]
  count(event: string): number
  /** Resolves with the `nth` line of this event, counted from 1. */
  until(event: string, nth?: number): Promise<LogLine>
}

export function recordLog(): RecordedLog {
  const lines: LogLine[] = []
  const waiting = new Set<() => void>()
  const write =
    (level: string) =>
    (event: string, message: string, fields: object = {}) => {
      lines.push({ level, event, message, fields: { ...fields } })
      for (const check of waiting) check()
    }
  const linesOf = (event: string): LogLine[] => lines.filter(line => line.event === event)
  return {
    lines,
    debug: write('debug'),
    info: write('info'),
    warn: write('warn'),
    error: write('error'),
    count: event => linesOf(event).length,
    until: (event, nth = 1) =>
      new Promise(resolve => {
        const check = (): void => {
          const line = linesOf(event)[nth - 1]
          if (!line) return
          waiting.delete(check)
          resolve(line)
        }
        waiting.add(check)
        check()
      })
  }
}
