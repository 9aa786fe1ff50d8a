// Lists every log event of the product by parsing its source code: `log.<level>(event, message, fields)`.
import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'

export interface LogEvent {
  readonly event: string
  readonly level: string
  readonly by: string // 'agent', 'kernel', or a plugin
  readonly fields: readonly string[]
  readonly message: string
}

const root = join(import.meta.dirname, '..', '..')

export function eventsOfCode(): readonly LogEvent[] {
  const files = globSync('{kernel,plugins,agent}/**/*.ts', {
    cwd: root,
    exclude: ['**/test/**']
  }).sort()
  return files.flatMap(file => {
    const code = readFileSync(join(root, file), 'utf8')
    const by = /^plugins\/[^/]+\/agent/.test(file) || file.startsWith('agent/') ? 'agent' : componentOf(file)
    return [...code.matchAll(/\blog\.(debug|info|warn|error)\(/g)].flatMap(
      ({ 0: call, 1: level = '', index }) => {
        const [event = '', message = '', fields = ''] = argumentsAt(code, index + call.length)
        return namesOf(event, code).map(name => ({
          event: name,
          level,
          by,
          fields: keysOf(fields, code),
          message: textOf(message)
        }))
      }
    )
  })
}

function componentOf(file: string): string {
  const [first = '', second = ''] = file.split('/')
  return first === 'plugins' ? second : second === 'platform' ? 'server, agent' : first
}

/** Splits arguments at commas of the outermost level, up to the closing bracket. */
function argumentsAt(code: string, start: number): string[] {
  const found = ['']
  let depth = 0
  let quote: string | null = null
  for (const char of code.slice(start)) {
    if (quote === null && depth === 0 && char === ')') break
    if (quote === null && depth === 0 && char === ',') {
      found.push('')
      continue
    }
    if (quote !== null) quote = char === quote ? null : quote
    else if (/['"`]/.test(char)) quote = char
    else if (/[([{]/.test(char)) depth++
    else if (/[)\]}]/.test(char)) depth--
    found[found.length - 1] += char
  }
  return found.map(part => part.trim())
}

/** Returns event names from a literal, a template (placeholders become <name>), or the literals of a constant. */
function namesOf(argument: string, code: string): string[] {
  if (/^['`]/.test(argument)) return [textOf(argument)]
  const value = new RegExp(`const ${argument} =([^\\n]*)`).exec(code)?.[1] ?? ''
  const names = [...value.matchAll(/'([a-z_]+\.[a-z_.]+)'/g)].map(([, name = '']) => name)
  if (names.length === 0) throw new Error(`cannot read the event names of ${argument} from the code`)
  return names
}

const textOf = (written: string): string =>
  (/^['`]/.test(written) ? written : `\${${written}}`)
    .replaceAll(/['`]\s*\+\s*['`]/g, '')
    .replaceAll(/^['`]|['`]$/g, '')
    .replaceAll(/\$\{(?:String\()?([\w.]*?)(\w+)\)?\}/g, '<$2>')
    .replaceAll(/\$\{[^}]*\}/g, '<...>')

/** Returns the keys of an object literal, or of a constant with one; '...' stands for a spread that cannot be parsed. */
function keysOf(argument: string, code: string): string[] {
  const literal = argument.startsWith('{')
    ? argument
    : (new RegExp(`const ${argument || '-'} = (\\{[\\s\\S]*?\\}\\n|\\{.*\\})`).exec(code)?.[1] ?? '').trim()
  if (literal === '') return argument === '' ? [] : ['...']
  return argumentsAt(literal.slice(1, -1), 0)
    .filter(part => part !== '')
    .flatMap(part => {
      if (!part.startsWith('...')) return [part.split(':', 1)[0]?.trim() ?? '']
      return /^\.\.\.\w+$/.test(part) ? keysOf(part.slice(3), code) : ['...']
    })
}

const head = [
  '# Log events',
  '',
  'Each log line is one JSON object on standard error: `timestamp`, `level`, `event`, `msg`, then the fields. On a terminal it is a',
  'readable line (`log_format`). A field `...` stands for fields that depend on the situation, `<name>` in',
  'a message for a value. The only secret in the log is the setup token. Lines are written synchronously: no line is lost when',
  'the process is killed, and a reader that does not read its pipe blocks the process (not the native engine). Lines that a full',
  'disk rejects are kept in memory, at most 1 MiB, and the process continues.',
  '',
  '| Event | Level | By | Fields | Message |',
  '|---|---|---|---|---|'
]

const code = (text: string): string => ['`', text, '`'].join('')

const rowOf = ({ event, level, by, fields, message }: LogEvent): string =>
  ['', code(event), level, by, fields.map(code).join(', '), message, ''].join(' | ').trim()

/** Returns the text of docs/EVENTS.md. */
export const eventsDocument = (): string =>
  [...head, ...new Set(eventsOfCode().map(rowOf).sort()), ''].join('\n')
