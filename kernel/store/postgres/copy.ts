import { type CopyWords, type Kind, quoted, tablesOf } from '../sql/copy.ts'
import { Transaction } from './transaction.ts'

const kinds: Readonly<Record<string, Kind>> = {
  text: 'text',
  'character varying': 'text',
  bigint: 'whole',
  integer: 'whole',
  smallint: 'whole',
  'double precision': 'real',
  boolean: 'flag',
  bytea: 'bytes'
}

const typeOf: Readonly<Record<Kind, string>> = {
  text: 'text',
  whole: 'int8',
  real: 'float8',
  flag: 'boolean',
  bytes: 'bytea'
}

/** Finds the identity column of a table. */
const numbered = `from pg_attribute own join pg_class on pg_class.oid = own.attrelid,
  pg_get_serial_sequence(format('public.%I', relname), attname) as counter
  where relnamespace = 'public'::regnamespace and relkind = 'r' and attidentity <> ''`

export const postgresCopy: CopyWords = {
  async tables(em) {
    const columns = await em.execute<{ table: string; column: string; type: string; place: number }[]>(
      `select relname as "table", attname as "column", format_type(atttypid, null) as type,
         coalesce(array_position(indkey::int2[], attnum) + 1, 0) as place
       from pg_class join pg_attribute on attrelid = pg_class.oid and attnum > 0 and not attisdropped
       left join pg_index on indrelid = pg_class.oid and indisprimary
       where relnamespace = 'public'::regnamespace and relkind in ('r', 'p') order by relname, attnum`
    )
    const references = await em.execute<{ child: string; parent: string }[]>(
      `select child.relname as child, parent.relname as parent from pg_constraint
       join pg_class parent on parent.oid = confrelid join pg_class child on child.oid = conrelid
       where contype = 'f' and child.relnamespace = 'public'::regnamespace`
    )
    return tablesOf(
      columns.map(column => ({ ...column, kind: kinds[column.type] ?? null })),
      references
    )
  },

  async write({ name, columns }, rows, em) {
    const transaction: unknown = em.getTransactionContext()
    if (!(transaction instanceof Transaction)) throw new TypeError('a copy is one transaction')
    const lists = [...columns.values()].map((kind, at) => `$${at + 1}::${typeOf[kind ?? 'text']}[]`)
    await transaction.run({
      text: `insert into "${name}" (${quoted(columns.keys())}) select * from unnest(${lists.join(', ')})`,
      values: lists.map((_, at) => rows.map(row => row[at]))
    })
  },

  async lastNumbers(em) {
    const rows = await em.execute<{ name: string; last: number | null }[]>(
      `select relname as name, pg_sequence_last_value(counter::regclass) as last ${numbered}`
    )
    return new Map(rows.flatMap(({ name, last }) => (last === null ? [] : [[name, last] as const])))
  },

  /** Also updates the planner's statistics, which take a new table for empty. */
  async continueAfter(last, { name }, em) {
    if (last !== undefined)
      await em.execute(`select setval(counter::regclass, ?) ${numbered} and relname = ?`, [last, name])
    await em.execute(`analyze "${name}"`, [], 'run')
  }
}
