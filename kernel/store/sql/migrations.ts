// Tables and migrations of plugins, and their schema versions.
import type { EntitySchema } from '@mikro-orm/core'
import type { Migration } from '@mikro-orm/migrations'
import semver from 'semver'
import { Fault, schemaTooNew } from '../../base/errors.ts'

/** The tables of one plugin. */
export interface Store {
  readonly entities: readonly EntitySchema[]
  readonly migrations: readonly StoreMigration[]
  /** A query for live peer servers: `version` and `closing_migrations`. It works since the migration `since`. */
  readonly servers?: { readonly since: string; readonly query: string }
}

export interface StoreMigration {
  readonly name: string // '<number>-<what>'; never renamed after a release
  readonly class: MigrationClass
  /** It removes something that only the previous release uses, so it waits until every live server knows it. */
  readonly closes?: true
}
type MigrationClass = new (...args: ConstructorParameters<typeof Migration>) => Migration

export interface PluginStore {
  readonly name: string
  readonly needs?: Readonly<Record<string, string>> // plugins with tables to create first
  readonly store?: Store
}

const closing = '+closes' // in the store, for builds that do not know the migration

export const isClosing = (id: string): boolean => id.endsWith(closing)

/** Returns the stored name of a migration. */
export const migrationId = (plugin: string, { name, closes }: Pick<StoreMigration, 'name' | 'closes'>) =>
  `${plugin}/${name}${closes ? closing : ''}`

export const migrationsOf = ({ name, store }: PluginStore) =>
  (store?.migrations ?? []).map(migration => ({ ...migration, name: migrationId(name, migration) }))

/**
 * Refuses newer schemas. The version is the number of the last migration, or of the last closing one in a shared store.
 * Ignores migrations of absent plugins.
 */
export function refuseNewer(
  executed: readonly string[],
  plugins: readonly PluginStore[],
  isShared = false
): void {
  const counted = isShared ? executed.filter(isClosing) : executed
  for (const { name, store } of plugins) {
    const found = counted.filter(id => id.startsWith(`${name}/`)).map(id => id.slice(name.length + 1))
    const database = newest(found)
    const ours = newest((store?.migrations ?? []).map(known => known.name))
    if (database > ours)
      throw new Fault(
        schemaTooNew,
        `${name}: the database has schema ${database}, this build knows ${ours}; start the newer build again`
      )
  }
}

/** True if both versions can share a store: their minor versions are equal or adjacent. */
export function areNeighbours(one: string, other: string): boolean {
  const a = semver.parse(one)
  const b = semver.parse(other)
  if (a === null || b === null) return one === other
  return a.major === b.major && Math.abs(a.minor - b.minor) <= 1
}

const newest = (names: readonly string[]): number =>
  Math.max(0, ...names.map(name => Number.parseInt(name, 10)))
