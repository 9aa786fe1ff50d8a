// A restored file may come from anyone: its schema must be the one that our migrations make.
import type { EntityManager } from '@mikro-orm/sql'
import { Fault, wrongUsage } from '../../kernel/base/errors.ts'
import { openStore } from '../../kernel/store/open.ts'
import { migrationId, type PluginStore } from '../../kernel/store/sql/migrations.ts'
import { schemaOf } from '../../kernel/store/sqlite/dialect.ts'

interface Entry {
  readonly type: string // table, index, trigger, view
  readonly name: string
  readonly owner: string // the table
  readonly sql: string | null // null: the file is damaged
}

/** Throws Fault for triggers, views, virtual or changed tables, before anything of the file runs. */
export async function requireOwnSchema(stores: readonly PluginStore[], em: EntityManager): Promise<void> {
  const rows = await em.execute<{ name: string }[]>('select name from schema_migration')
  const executed = new Set(rows.map(({ name }) => name))
  const expected = new Map((await schemaAfter(stores, executed)).map(entry => [keyOf(entry), entry]))
  const found = (await schemaOf<Entry>(em)).filter(({ name }) => name !== 'sluice_backup')
  const absent = absentPlugins(stores, executed)
  for (const entry of found) {
    const ours = expected.get(keyOf(entry))
    if (ours ? plain(ours) !== plain(entry) : !isOf(absent, entry))
      throw refused(`${entry.type} ${entry.name} is not of sluice or its plugins`)
  }
  const names = new Set(found.map(keyOf))
  const missing = [...expected.keys()].find(key => !names.has(key))
  if (missing !== undefined) throw refused(`it lacks ${missing}`)
}

/** Returns the schema that these migrations make in a new database. */
async function schemaAfter(stores: readonly PluginStore[], executed: ReadonlySet<string>): Promise<Entry[]> {
  const migrated = stores.map(({ name, store }) => {
    const all = store?.migrations ?? []
    const migrations = all.filter(migration => executed.has(migrationId(name, migration)))
    const known = [...executed].filter(id => id.startsWith(`${name}/`)).length
    if (known > migrations.length) throw refused(`${name} has migrations that this build does not know`)
    return { name, store: { entities: [], migrations } }
  })
  const reference = await openStore(':memory:', migrated)
  try {
    return await reference.read(schemaOf<Entry>)
  } finally {
    await reference.close()
  }
}

/** Prefixes of tables of plugins that the store has had and this configuration does not load. */
const absentPlugins = (stores: readonly PluginStore[], executed: ReadonlySet<string>): string[] =>
  [...executed]
    .map(id => id.split('/')[0] ?? '')
    .filter(plugin => !stores.some(({ name }) => name === plugin))
    .map(plugin => plugin.replaceAll('-', '_'))

const isOf = (prefixes: readonly string[], { type, owner, sql }: Entry): boolean =>
  (type === 'table' || type === 'index') &&
  !/^\s*create\s+virtual/i.test(sql ?? '') &&
  prefixes.some(prefix => owner === prefix || owner.startsWith(`${prefix}_`))

const keyOf = ({ type, name }: Entry): string => `${type} ${name}`

/** Versions of SQLite differ in quotes and spaces. */
const plain = ({ owner, sql }: Entry): string =>
  `${owner} ${(sql ?? '').replaceAll(/["`[\]\s]/g, '')}`.toLowerCase()

const refused = (why: string): Fault => new Fault(wrongUsage, `the backup is refused: ${why}`)
