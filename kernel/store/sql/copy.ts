// Operations of each database for a copy of a whole store. They run in the transaction of `em`.
import type { EntityManager } from '@mikro-orm/sql'

export type Kind = 'text' | 'whole' | 'real' | 'flag' | 'bytes'

/** A value, independent of the database. */
export type Cell = string | number | boolean | Buffer | null

export interface CopiedTable {
  readonly name: string
  /** By column name; null if unknown. SQLite knows none: its columns accept any value. */
  readonly columns: ReadonlyMap<string, Kind | null>
  readonly key: readonly string[] // columns of the primary key, in its order
  readonly parents: readonly string[] // tables to fill first
}

export interface CopyWords {
  tables(em: EntityManager): Promise<readonly CopiedTable[]>
  /** Writes rows with cells in column order. */
  write(table: CopiedTable, rows: readonly (readonly Cell[])[], em: EntityManager): Promise<void>
  /** Returns the last generated number of each table. */
  lastNumbers(em: EntityManager): Promise<ReadonlyMap<string, number>>
  /** Makes a table generate only higher numbers. */
  continueAfter(last: number | undefined, table: CopiedTable, em: EntityManager): Promise<void>
}

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
