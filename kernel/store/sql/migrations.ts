// What plugins declare of the store, and the version of the schema that follows.
import type { EntitySchema } from '@mikro-orm/core'
import type { Migration } from '@mikro-orm/migrations'
import { Fault, schemaTooNew } from '../../base/errors.ts'

/** The tables of one plugin. */
export interface Store {
  readonly entities: readonly EntitySchema[]
  /** Named '<number>-<what>'; never renamed after a release. */
  readonly migrations: readonly { readonly name: string; readonly class: MigrationClass }[]
}
export type MigrationClass = new (...args: ConstructorParameters<typeof Migration>) => Migration

export interface PluginStore {
  readonly name: string
  readonly needs?: Readonly<Record<string, string>> // plugins whose tables are made before
  readonly store?: Store
}

export const migrationsOf = ({ name, store }: PluginStore) =>
  (store?.migrations ?? []).map(migration => ({ ...migration, name: `${name}/${migration.name}` }))

/** A plugin's schema version is the number of its last migration. Migrations of absent plugins are ignored. */
export function refuseNewer(executed: readonly string[], plugins: readonly PluginStore[]): void {
  for (const { name, store } of plugins) {
    const found = executed.filter(id => id.startsWith(`${name}/`)).map(id => id.slice(name.length + 1))
    const [database, ours] = [newest(found), newest((store?.migrations ?? []).map(known => known.name))]
    if (database > ours)
      throw new Fault(
        schemaTooNew,
        `${name}: the database has schema ${database}, this build knows ${ours}; start the newer build again`
      )
  }
}

const newest = (names: readonly string[]): number =>
  Math.max(0, ...names.map(name => Number.parseInt(name, 10)))
