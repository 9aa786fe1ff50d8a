import type { Field } from './fields.ts'

export type Row = readonly string[]

/** Returns a Markdown table, or '' without rows. Omits columns that are empty in every row. */
export function table(head: Row, rows: readonly Row[]): string {
  if (rows.length === 0) return ''
  const shown = head.map((_, at) => rows.some(row => row[at] !== ''))
  const line = (row: Row): string =>
    `| ${row
      .filter((_, at) => shown[at])
      .map(cell)
      .join(' | ')} |`
  return [line(head), line(head.map(() => '---')), ...rows.map(line)].join('\n')
}

export const fieldsTable = (fields: readonly Field[], firstColumn: string): string =>
  table(
    [firstColumn, 'Type', 'Given', 'Meaning'],
    fields.map(({ path, type, given, description }) => [code(path), type, given, description])
  )

/** Escapes bars, which end a cell even in code, and joins lines. */
const cell = (text: string): string => text.replaceAll('|', '\\|').replaceAll(/\s*\n\s*/g, ' ')

export const code = (text: string): string => `\`${text}\``

export const codes = (texts: readonly string[]): string => texts.map(code).join(', ')

export interface Chapter {
  readonly title: string
  readonly text: string // may be ''
  readonly parts?: readonly Chapter[]
}

/** Omits chapters without text and parts. */
export function formatChapter({ title, text, parts = [] }: Chapter, level = 1): string {
  const inner = parts.map(part => formatChapter(part, level + 1)).filter(part => part !== '')
  if (text === '' && inner.length === 0) return ''
  return [`${'#'.repeat(level)} ${title}`, text, ...inner].filter(part => part !== '').join('\n\n')
}
