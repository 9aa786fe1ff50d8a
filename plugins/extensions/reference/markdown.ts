import type { Field } from './fields.ts'

export type Row = readonly string[]

/** Nothing where there are no rows; a cell that is empty in all of them is no column. */
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

/** `what` heads the first column. */
export const fieldsTable = (fields: readonly Field[], what: string): string =>
  table(
    [what, 'Type', 'Given', 'Means'],
    fields.map(({ path, type, given, description }) => [code(path), type, given, description])
  )

/** Also within code a bar would end the cell. */
const cell = (text: string): string => text.replaceAll('|', '\\|').replaceAll(/\s*\n\s*/g, ' ')

export const code = (text: string): string => `\`${text}\``

export const codes = (texts: readonly string[]): string => texts.map(code).join(', ')

export interface Chapter {
  readonly title: string
  readonly text: string // '' : there is nothing to say here
  readonly parts?: readonly Chapter[]
}

/** Chapters without text and parts are left out. */
export function pageOf({ title, text, parts = [] }: Chapter, level = 1): string {
  const inner = parts.map(part => pageOf(part, level + 1)).filter(part => part !== '')
  if (text === '' && inner.length === 0) return ''
  return [`${'#'.repeat(level)} ${title}`, text, ...inner].filter(part => part !== '').join('\n\n')
}
