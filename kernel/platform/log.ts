import { type DestinationStream, pino } from 'pino'
import { systemClock, timestamp } from '../base/clock.ts'
import { escapeControlChars, type Log } from '../base/log.ts'
import { currentRequestId } from '../base/request-id.ts'
import { currentTrace } from '../base/trace.ts'

export interface LogOptions {
  readonly level: string
  readonly format: 'auto' | 'json' | 'pretty' // auto: pretty on a terminal
}

type Listener = (event: string, message: string, fields: object) => void

/** A log with a level that can change at run time. */
export interface LeveledLog extends Log {
  setLevel(level: LogOptions['level']): void
}

/** Writes JSON or readable lines to standard error, with `timestamp`, `level`, `event`, `msg`, `request_id`, `trace_id` and the fields. */
export async function openLog(
  { level, format }: LogOptions,
  listener: Listener = () => {}
): Promise<LeveledLog> {
  const isPretty = format === 'auto' ? process.stderr.isTTY : format === 'pretty'
  const options = {
    level,
    base: null,
    timestamp: () => `,"timestamp":"${timestamp(systemClock.now())}"`,
    formatters: {
      level: (label: string) => ({ level: label }),
      ...(isPretty && { log: escapeFields })
    }
  }
  const out = standardError()
  const logger = pino(options, isPretty ? await pretty(out) : out)
  const put =
    (level: 'debug' | 'info' | 'warn' | 'error') =>
    (event: string, message: string, fields: object = {}): void => {
      const request_id = currentRequestId.getStore()
      const trace_id = currentTrace.getStore()?.traceparent.slice(3, 35)
      logger[level]({
        event,
        msg: message,
        ...(request_id && { request_id }),
        ...(trace_id && { trace_id }),
        ...fields
      })
      listener(event, message, fields)
    }
  const setLevel = (next: string): void => {
    logger.level = next
  }
  return { debug: put('debug'), info: put('info'), warn: put('warn'), error: put('error'), setLevel }
}

function standardError(): ReturnType<typeof pino.destination> {
  // Synchronous, so that a crash or a blocked event loop loses no line. Buffers at most 1 MiB while writes fail.
  return pino.destination({ dest: 2, sync: true, maxLength: 1 << 20 }).on('error', () => {}) // a full disk: there is no other place to report it
}

/**
 * Uses pino-pretty's factory, because its stream ends at the first failed write. Node decides about colors, with NO_COLOR
 * and FORCE_COLOR.
 */
async function pretty(out: ReturnType<typeof standardError>): Promise<DestinationStream> {
  const { prettyFactory } = await import('pino-pretty')
  const formatLine = prettyFactory({
    colorize: process.stderr.isTTY && process.stderr.hasColors(),
    singleLine: true,
    timestampKey: 'timestamp',
    messageFormat: (line, key) => escapeControlChars(`${line['event']}: ${line[key]}`),
    ignore: 'event'
  })
  return { write: line => void out.write(formatLine(line)) }
}

/** Escapes control characters in names and values at every depth; line breaks of stacks stay. */
const escapeFields = (fields: object): Record<string, unknown> =>
  Object.fromEntries(
    Object.entries(fields).map(([key, value]) => [escapeControlChars(key), escapeValue(value)])
  )

function escapeValue(value: unknown): unknown {
  if (typeof value === 'string') return value.split('\n').map(escapeControlChars).join('\n')
  if (Array.isArray(value)) return value.map(escapeValue)
  return typeof value === 'object' && value !== null ? escapeFields(value) : value
}
