import { type DestinationStream, pino } from 'pino'
import { systemClock, timestamp } from './clock.ts'
import { currentRequestId } from './request-id.ts'

/** Writes one line for each event. Never pass secrets in `fields`: there is no redaction. */
export interface Log {
  debug(event: string, message: string, fields?: object): void
  info(event: string, message: string, fields?: object): void
  warn(event: string, message: string, fields?: object): void
  error(event: string, message: string, fields?: object): void
}

export interface LogOptions {
  readonly level: string
  readonly format: 'json' | 'pretty'
}

type Listener = (event: string, message: string, fields: object) => void

/** Writes JSON or readable lines to standard error: `timestamp`, `level`, `event`, `msg`, `request_id`, and the fields. */
export async function openLog({ level, format }: LogOptions, listener: Listener = () => {}): Promise<Log> {
  const options = {
    level,
    base: null,
    timestamp: () => `,"timestamp":"${timestamp(systemClock.now())}"`,
    formatters: {
      level: (label: string) => ({ level: label }),
      ...(format === 'pretty' && { log: escapeFields })
    }
  }
  const out = standardError()
  const logger = pino(options, format === 'json' ? out : await pretty(out))
  const put =
    (level: 'debug' | 'info' | 'warn' | 'error') =>
    (event: string, message: string, fields: object = {}): void => {
      const request_id = currentRequestId.getStore()
      logger[level]({ event, msg: message, ...(request_id && { request_id }), ...fields })
      listener(event, message, fields)
    }
  return { debug: put('debug'), info: put('info'), warn: put('warn'), error: put('error') }
}

function standardError(): ReturnType<typeof pino.destination> {
  // Synchronous, so that a crash or a blocked event loop loses no line. At most 1 MiB is buffered when writing fails.
  const out = pino.destination({ dest: 2, sync: true, maxLength: 1 << 20 })
  return out.on('error', () => {}) // a full disk: there is no other place to report it
}

/** Uses pino-pretty's factory: its stream would end for good at the first failed write. */
async function pretty(out: ReturnType<typeof standardError>): Promise<DestinationStream> {
  const { prettyFactory } = await import('pino-pretty')
  const lineOf = prettyFactory({
    timestampKey: 'timestamp',
    messageFormat: (line, key) => escapeControlChars(`${line['event']}: ${line[key]}`),
    ignore: 'event'
  })
  return { write: line => void out.write(lineOf(line)) }
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

/** Control and bidirectional characters. */
export const controlChars = /[\p{Cc}\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]/u

/** Escapes control characters, so that a logged name cannot manipulate the terminal. */
export const escapeControlChars = (text: string): string =>
  text.replaceAll(
    new RegExp(controlChars, 'gu'),
    char => `\\u${char.charCodeAt(0).toString(16).padStart(4, '0')}`
  )
