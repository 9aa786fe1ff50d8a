import { type DestinationStream, pino } from 'pino'
import { currentRequestId } from './request-id.ts'

/** One event a line. `fields` never hold a secret: there is no redaction behind this. */
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

type Watch = (event: string, message: string, fields: object) => void

/** JSON lines (or the same for people) on standard error: `timestamp`, `level`, `event`, `msg`, `request_id`, fields. */
export async function openLog({ level, format }: LogOptions, watch: Watch = () => {}): Promise<Log> {
  const options = {
    level,
    base: null,
    timestamp: () => `,"timestamp":"${new Date().toISOString()}"`,
    formatters: { level: (label: string) => ({ level: label }), ...(format === 'pretty' && { log: legible }) }
  }
  const out = standardError()
  const logger = pino(options, format === 'json' ? out : await pretty(out))
  const put =
    (level: 'debug' | 'info' | 'warn' | 'error') =>
    (event: string, message: string, fields: object = {}): void => {
      const request_id = currentRequestId.getStore()
      logger[level]({ event, msg: message, ...(request_id && { request_id }), ...fields })
      watch(event, message, fields)
    }
  return { debug: put('debug'), info: put('info'), warn: put('warn'), error: put('error') }
}

function standardError(): ReturnType<typeof pino.destination> {
  // At once: what kills or holds up the process next loses no line. Of those that cannot be written 1 MiB waits.
  const out = pino.destination({ dest: 2, sync: true, maxLength: 1 << 20 })
  return out.on('error', () => {}) // a full disk: there is nowhere else to say so, and it ends nobody
}

/** Not its stream, which one failed write would end for good. */
async function pretty(out: ReturnType<typeof standardError>): Promise<DestinationStream> {
  const { prettyFactory } = await import('pino-pretty')
  const lineOf = prettyFactory({
    timestampKey: 'timestamp',
    messageFormat: (line, key) => escapeControlChars(`${line['event']}: ${line[key]}`),
    ignore: 'event'
  })
  return { write: line => void out.write(lineOf(line)) }
}

/** At every depth, names of fields too; the lines of a stack stay lines. */
const legible = (fields: object): Record<string, unknown> =>
  Object.fromEntries(Object.entries(fields).map(([key, value]) => [escapeControlChars(key), shown(value)]))

function shown(value: unknown): unknown {
  if (typeof value === 'string') return value.split('\n').map(escapeControlChars).join('\n')
  if (Array.isArray(value)) return value.map(shown)
  return typeof value === 'object' && value !== null ? legible(value) : value
}

/** Control and bidirectional characters. */
export const controlChars = /[\p{Cc}\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]/u

/** With escapes for what is unseen: a name cannot move the cursor of whoever reads it. */
export const escapeControlChars = (text: string): string =>
  text.replaceAll(
    new RegExp(controlChars, 'gu'),
    char => `\\u${char.charCodeAt(0).toString(16).padStart(4, '0')}`
  )
