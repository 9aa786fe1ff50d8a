// Parses the syntax of HAProxy: sections of lines, which have words, quotes, escapes and comments. Expands no variables.
import type { Conversion } from './conversion.ts'
import { isSecretText, maskWords } from './mask-words.ts'
import type { Statement } from './report.ts'
import { invalidFile, type SourceFile } from './source-file.ts'
import { splitWords } from './split-words.ts'

export interface Line {
  readonly words: readonly string[]
  readonly statement: Statement
}

export interface Section extends Line {
  readonly keyword: string
  readonly name: string // '' if it has none
  readonly client: string
  readonly lines: Line[]
}

const keywords =
  /^(global|defaults|frontend|backend|listen|userlist|peers|resolvers|mailers|cache|program|http-errors|ring|log-forward|log-profile|fcgi-app|crt-store|traces|acme|namespace_list)$/

/** Stands for a filter that may count: its rules must not open. */
const unknownFilter = ['tcp-request', 'content', 'conditional']

const syntax = { comment: '#', escapes: { n: '\n', r: '\r', t: '\t' } }

/** Throws `import_invalid` with the line. Lines between `.if` and `.endif` are refused: whether they count is not known. */
export function readHaproxy(file: SourceFile, conversion: Conversion): Section[] {
  const { verdicts } = conversion
  const sections: Section[] = []
  let conditions = 0
  for (const [at, text] of file.text.split('\n').entries()) {
    const number = at + 1
    const words = splitWords(text, file.name, number, syntax)
    const [keyword = '', second = ''] = words
    if (words.length === 0) continue
    const statement = conversion.statement(
      file.name,
      number,
      textOf(words),
      isSecret(words) ? 'left_out' : 'none'
    )
    const current = sections.at(-1)
    if (keyword === '.if') conditions += 1
    if (keyword.startsWith('.') || conditions > 0) {
      if (keyword === '.endif') conditions -= 1
      const isMessage = /^\.(notice|warning|diag)$/.test(keyword)
      if (isMessage) verdicts.ignore(statement, 'logging')
      else verdicts.refuse(statement, 'conditional')
      if (keyword === 'tcp-request') current?.lines.push({ words: unknownFilter, statement })
      continue
    }
    if (keywords.test(keyword)) {
      const name = second === 'from' && words.length === 3 ? '' : second
      sections.push({ keyword, name, words, statement, client: file.client, lines: [] })
    } else if (current) current.lines.push({ words, statement })
    else
      throw invalidFile(
        file.name,
        number,
        `${JSON.stringify(keyword.slice(0, 40))} is in no section: begin with global, defaults, frontend, backend or listen`
      )
  }
  return sections
}

/** `stats auth`, passwords of users, variables and texts of checks are secrets. */
const isSecret = (words: readonly string[]): boolean => secretAt(words) >= 0 || isSecretText(words)

function secretAt([first = '', second = '', third = '']: readonly string[]): number {
  if (/^(stats|http-request|http-response)$/.test(first) && second === 'auth') return 2
  if (first === 'user' && /^(password|insecure-password)$/.test(third)) return 3
  if (/^(setenv|presetenv)$/.test(first)) return 2
  return /^(tcp-check|http-check)$/.test(first) && second.startsWith('send') ? 2 : -1
}

function textOf(words: readonly string[]): string {
  const at = secretAt(words)
  return at < 0 ? maskWords(words) : `${words.slice(0, at).join(' ')} ***`
}
