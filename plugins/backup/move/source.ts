// Checks the source of a move: this sluice has migrated it, and every table belongs to a loaded plugin.
import type { EntityManager } from '@mikro-orm/sql'
import { Fault, wrongUsage } from '../../../kernel/base/errors.ts'
import { requireNotNewer } from '../../../kernel/store/newest-version.ts'
import type { CopiedTable } from '../../../kernel/store/sql/copy.ts'
import { migrationsOf, type PluginStore, refuseNewer } from '../../../kernel/store/sql/migrations.ts'
import { notMovable } from '../codes.ts'

/** The table of executed migrations. Each store creates its own. */
export const ownTable = 'schema_migration'

export interface Known {
  readonly stores: readonly PluginStore[] // in the order that creates their tables
  readonly version: string
}

/** Returns the names of plugins that have tables in the store but are not loaded. Throws Fault for an older or newer store. */
export async function absentPlugins(
  tables: readonly CopiedTable[],
  { stores, version }: Known,
  em: EntityManager
): Promise<readonly string[]> {
  if (!tables.some(({ name }) => name === ownTable))
    throw new Fault(wrongUsage, 'there is no store at the store_url of the configuration; correct it')
  const rows = await em.execute<{ name: string }[]>(`select name from ${ownTable}`)
  const executed = rows.map(({ name }) => name)
  refuseNewer(executed, stores)
  await requireNotNewer(em, version)
  const pending = stores.flatMap(migrationsOf).find(({ name }) => !executed.includes(name))
  if (pending)
    throw new Fault(
      notMovable,
      `the store has not had the migration ${pending.name}: start this server on it once, stop it, and move again`
    )
  const names = executed.map(id => id.split('/', 1)[0] ?? id)
  return [...new Set(names)].filter(plugin => !stores.some(({ name }) => name === plugin))
}

/** Throws Fault unless `leftBehind` names each table that stays, by its plugin or itself, and nothing else. */
export function requireLeft(
  staying: readonly string[],
  absent: readonly string[],
  leftBehind: readonly string[]
): void {
  const ownerOf = (table: string): string =>
    absent.find(plugin => isOf(table, plugin.replaceAll('-', '_'))) ?? table
  const owners = Map.groupBy(staying, ownerOf)
  const other = leftBehind.find(name => !owners.has(name))
  if (other !== undefined)
    throw new Fault(wrongUsage, `--leave-behind: the store has no tables of ${other} that are not moved`)
  const lost = [...owners].filter(([owner]) => !leftBehind.includes(owner))
  if (lost.length === 0) return
  const what = lost.map(([owner, own]) => (absent.includes(owner) ? `${own.join(', ')} of ${owner}` : owner))
  const names = lost.map(([owner]) => owner)
  throw new Fault(
    notMovable,
    `the store has tables of no plugin that is loaded: ${what.join('; ')}. Enable the plugin for the move, ` +
      `or leave them: --leave-behind ${names.join(' ')}`
  )
}

const isOf = (table: string, prefix: string): boolean => table === prefix || table.startsWith(`${prefix}_`)
