import { type CopyWords, quoted, tablesOf } from '../sql/copy.ts'
import { boundOf } from './query.ts'
import { Transaction } from './transaction.ts'

export const sqliteCopy: CopyWords = {
  async tables(em) {
    const columns = await em.execute<{ table: string; column: string; place: number }[]>(
      `select own.name as "table", info.name as "column", info.pk as place
       from sqlite_schema own join pragma_table_info(own.name) info
       where own.type = 'table' and substr(own.name, 1, 7) <> 'sqlite_' order by own.name, info.cid`
    )
    const references = await em.execute<{ child: string; parent: string }[]>(
      `select own.name as child, key."table" as parent
       from sqlite_schema own join pragma_foreign_key_list(own.name) key where own.type = 'table'`
    )
    return tablesOf(
      columns.map(column => ({ ...column, kind: null })),
      references
    )
  },

  async write({ name, columns }, rows, em) {
    const transaction: unknown = em.getTransactionContext()
    if (!(transaction instanceof Transaction)) throw new TypeError('a copy is one transaction')
    const marks = [...columns].map(() => '?').join(', ')
    const sql = `insert into "${name}" (${quoted(columns.keys())}) values (${marks})`
    for (const row of rows) transaction.run({ sql, values: row.map(cell => boundOf(cell) ?? null) })
  },

  async lastNumbers(em) {
    const rows = await em.execute<{ name: string; seq: number }[]>('select name, seq from sqlite_sequence')
    return new Map(rows.map(({ name, seq }) => [name, seq]))
  },

  async continueAfter(last, { name }, em) {
    if (last === undefined) return
    await em.execute('delete from sqlite_sequence where name = ?', [name], 'run')
    await em.execute('insert into sqlite_sequence (name, seq) values (?, ?)', [name, last], 'run')
  }
}
