// What a copy of a whole store needs of each database. It runs in a transaction, whose entity manager is `em`.
import type { EntityManager } from '@mikro-orm/sql'

/** What a column holds. */
export type Kind = 'text' | 'whole' | 'real' | 'flag' | 'bytes'

/** A value, which is the same in each database. */
export type Cell = string | number | boolean | Buffer | null

export interface CopiedTable {
  readonly name: string
  /** By the name; null where the database does not say it. SQLite says it of none: its columns take any value. */
  readonly columns: ReadonlyMap<string, Kind | null>
  readonly key: readonly string[] // columns of the primary key, in its order
  readonly parents: readonly string[] // tables whose rows must be there before
}

export interface CopyWords {
  tables(em: EntityManager): Promise<readonly CopiedTable[]>
  /** Writes rows, whose cells are in the order of the columns. */
  write(table: CopiedTable, rows: readonly (readonly Cell[])[], em: EntityManager): Promise<void>
  /** Returns the last number that each table has given to a row by itself. */
  lastNumbers(em: EntityManager): Promise<ReadonlyMap<string, number>>
  /** Makes a table, whose rows are complete, give higher ones only. */
  continueAfter(last: number | undefined, table: CopiedTable, em: EntityManager): Promise<void>
}

/** A column, as a catalog lists it. */
interface Listed {
  readonly table: string
  readonly column: string
  readonly kind: Kind | null
  readonly place: number // in the primary key, from 1; 0: not in it
}

interface Reference {
  readonly child: string
  readonly parent: string
}

export function tablesOf(columns: readonly Listed[], references: readonly Reference[]): CopiedTable[] {
  return [...Map.groupBy(columns, ({ table }) => table)].map(([name, own]) => ({
    name,
    columns: new Map(own.map(({ column, kind }) => [column, kind])),
    key: own
      .filter(({ place }) => place > 0)
      .toSorted((one, other) => one.place - other.place)
      .map(({ column }) => column),
    parents: references
      .filter(({ child, parent }) => child === name && parent !== name)
      .map(({ parent }) => parent)
  }))
}

export const quoted = (names: Iterable<string>): string => [...names].map(name => `"${name}"`).join(', ')
