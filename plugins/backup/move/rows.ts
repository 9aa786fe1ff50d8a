// The rows of a table, the same in each database: in the order of the key, page by page.
import { createHash } from 'node:crypto'
import type { EntityManager } from '@mikro-orm/sql'
import { Fault } from '../../../kernel/base/errors.ts'
import { type Cell, type CopiedTable, type Kind, quoted } from '../../../kernel/store/sql/copy.ts'
import { notMovable } from '../codes.ts'

/** A table with a known kind for every column. */
export interface Table extends CopiedTable {
  readonly columns: ReadonlyMap<string, Kind>
}

/** The content of a table. Equal rows in the same order have the same hash. */
export interface Content {
  readonly table: string
  readonly rows: number
  readonly sha256: string
}

type Row = readonly Cell[]

const pageLength = 2 ** 20 // characters
const maxRows = 1000 // of a page

/** Reads all rows, and passes each page to `take`. Only one page is in memory; the first page is a single row. */
export async function readRows(
  table: Table,
  em: EntityManager,
  take: (rows: readonly Row[]) => Promise<unknown> | undefined
): Promise<Content> {
  const hash = createHash('sha256')
  const names = [...table.columns.keys()]
  let count = 0
  let after: Row | null = null
  for (let size = 1; ; ) {
    const found = await pageOf(table, after, size, em)
    const rows = found.map(row => cellsOf(row, table))
    const text = rows.map(textOf).join('')
    hash.update(text)
    count += rows.length
    await take(rows)
    if (rows.length < size) return { table: table.name, rows: count, sha256: hash.digest('hex') }
    const last = rows.at(-1) ?? []
    after = table.key.map(name => last[names.indexOf(name)] ?? null)
    size = Math.max(1, Math.min(maxRows, size * 8, Math.floor((size * pageLength) / text.length)))
  }
}

function pageOf(
  { name, columns, key }: Table,
  after: Row | null,
  size: number,
  em: EntityManager
): Promise<Readonly<Record<string, unknown>>[]> {
  const beyond = after ? ` where (${quoted(key)}) > (${after.map(() => '?').join(', ')})` : ''
  return em.execute(
    `select ${quoted(columns.keys())} from "${name}"${beyond} order by ${quoted(key)} limit ?`,
    [...(after ?? []), size]
  )
}

const readers: Readonly<Record<Kind, (value: unknown) => Cell | undefined>> = {
  text(value) {
    if (typeof value === 'number') return String(value) // SQLite stores a JSON number as a number
    return typeof value === 'string' && !value.includes('\0') && value.isWellFormed() ? value : undefined
  },
  whole: value => (Number.isSafeInteger(value) ? Number(value) : undefined),
  real: value => (Number.isFinite(value) ? Number(value) : undefined),
  flag: value => (value === true || value === 1 ? true : value === false || value === 0 ? false : undefined),
  bytes: value => (Buffer.isBuffer(value) ? value : undefined)
}

const wanted: Readonly<Record<Kind, string>> = {
  text: 'a text without U+0000',
  whole: 'a whole number below 2^53',
  real: 'a number',
  flag: 'true or false',
  bytes: 'a BLOB'
}

function cellsOf(row: Readonly<Record<string, unknown>>, { name, columns, key }: Table): Row {
  return Array.from(columns, ([column, kind]) => {
    const value = row[column]
    const cell = value === null ? null : readers[kind](value)
    if (cell !== undefined) return cell
    const which = key.map(part => `${part} ${JSON.stringify(row[part])}`).join(', ')
    throw new Fault(
      notMovable,
      `${name}.${column} of the row with ${which} is not ${wanted[kind]}; correct it in the old store, and move again`
    )
  })
}

const textOf = (row: Row): string =>
  `${JSON.stringify(row.map(cell => (Buffer.isBuffer(cell) ? [cell.toString('base64')] : cell)))}\n`
