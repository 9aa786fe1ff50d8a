// What plugins declare of the store, and the version of the schema that follows.
import type { EntitySchema } from '@mikro-orm/core'
import type { Migration } from '@mikro-orm/migrations'
import semver from 'semver'
import { Fault, schemaTooNew } from '../../base/errors.ts'

/** The tables of one plugin. */
export interface Store {
  readonly entities: readonly EntitySchema[]
  readonly migrations: readonly StoreMigration[]
  /** A query for the other servers that live: `version`, and `knows`. It fits every store that has had the migration `since`. */
  readonly servers?: { readonly since: string; readonly query: string }
}

export interface StoreMigration {
  readonly name: string // '<number>-<what>'; never renamed after a release
  readonly class: MigrationClass
  /** It takes away what the release before uses, and this one does not: it waits until no server lives that does not know it. */
  readonly closes?: true
}
export type MigrationClass = new (...args: ConstructorParameters<typeof Migration>) => Migration

export interface PluginStore {
  readonly name: string
  readonly needs?: Readonly<Record<string, string>> // plugins whose tables are made before
  readonly store?: Store
}

const closing = '+closes' // in the store, so that builds that do not know the migration can tell

export const isClosing = (id: string): boolean => id.endsWith(closing)

/** Returns the name that a migration has in the store. */
export const migrationId = (plugin: string, { name, closes }: Pick<StoreMigration, 'name' | 'closes'>) =>
  `${plugin}/${name}${closes ? closing : ''}`

export const migrationsOf = ({ name, store }: PluginStore) =>
  (store?.migrations ?? []).map(migration => ({ ...migration, name: migrationId(name, migration) }))

/**
 * A plugin's schema version is the number of its last migration; where servers of two releases share the store, of its last
 * one that closes. Migrations of absent plugins are ignored.
 */
export function refuseNewer(
  executed: readonly string[],
  plugins: readonly PluginStore[],
  isShared = false
): void {
  const counted = isShared ? executed.filter(isClosing) : executed
  for (const { name, store } of plugins) {
    const found = counted.filter(id => id.startsWith(`${name}/`)).map(id => id.slice(name.length + 1))
    const [database, ours] = [newest(found), newest((store?.migrations ?? []).map(known => known.name))]
    if (database > ours)
      throw new Fault(
        schemaTooNew,
        `${name}: the database has schema ${database}, this build knows ${ours}; start the newer build again`
      )
  }
}

/** Tells whether servers of both versions may share a store: their minor versions are the same, or follow one another. */
export function areNeighbours(one: string, other: string): boolean {
  const [a, b] = [semver.parse(one), semver.parse(other)]
  if (a === null || b === null) return one === other
  return a.major === b.major && Math.abs(a.minor - b.minor) <= 1
}

const newest = (names: readonly string[]): number =>
  Math.max(0, ...names.map(name => Number.parseInt(name, 10)))
