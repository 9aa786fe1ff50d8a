// Rolling upgrades: servers of two releases share a database for a while.
import { setTimeout as pause } from 'node:timers/promises'
import type { EntityManager } from '@mikro-orm/sql'
import { Fault, storeInUse } from '../../base/errors.ts'
import type { Signals, StoreConnection } from '../sql/database.ts'
import {
  areNeighbours,
  isClosing,
  migrationId,
  migrationsOf,
  type PluginStore,
  refuseNewer
} from '../sql/migrations.ts'
import { migrationKey } from './sessions.ts'

/** The upgrade state of a shared store. */
export interface Upgrade {
  readonly waiting: readonly string[] // migrations that some live server does not know
  readonly versions: readonly string[] // of live peer servers
  readonly closingMigrations: string // of this build, separated by spaces
  /** Throws Fault if a live peer is incompatible with this version. */
  requireNeighbours(version: string): void
  /** Throws Fault if a peer has removed something that this build uses. Call it once peers can see this server. */
  requireOpen(): Promise<void>
}

export interface Plan extends Upgrade {
  readonly now: string[] // migrations to run at this start, under the lock
}

interface Orm {
  readonly em: EntityManager
  readonly driver: { getConnection(): Pick<StoreConnection, 'signals'> }
}

interface Server {
  readonly version: string
  readonly closing_migrations: string
}

/** Plans the migrations that are not `executed`. */
export async function planOf(
  plugins: readonly PluginStore[],
  executed: readonly string[],
  { em, driver }: Orm
): Promise<Plan> {
  const ids = plugins.flatMap(migrationsOf).map(({ name }) => name)
  const { signals } = driver.getConnection()
  const servers = await serversIn(plugins, executed, em)
  const isUnknown = (id: string): boolean =>
    servers.some(({ closing_migrations }) => !closing_migrations.split(' ').includes(id))
  const versions = servers.map(({ version }) => version)
  const pending = ids.filter(id => !executed.includes(id))
  const waiting = pending.filter(id => isClosing(id) && isUnknown(id))
  return {
    waiting,
    now: pending.filter(id => !waiting.includes(id)),
    versions,
    closingMigrations: ids.filter(isClosing).join(' '),
    requireNeighbours(version) {
      const far = versions.find(other => !areNeighbours(other, version))
      if (far === undefined) return
      const why = `a server of sluice ${far} uses the store, and ${version} cannot run beside it`
      throw new Fault(storeInUse, `${why}; stop it first, or upgrade by one minor version at a time`)
    },
    async requireOpen() {
      if (!signals) throw new TypeError('the store is not shared')
      await untilMigrated(signals)
      const rows = await signals.query<{ name: string }>('select name from schema_migration')
      const done = rows.map(({ name }) => name)
      refuseNewer(done, plugins, true)
    }
  }
}

async function serversIn(plugins: readonly PluginStore[], executed: readonly string[], em: EntityManager) {
  const found: Server[] = []
  for (const { name, store: { servers } = {} } of plugins)
    if (servers && executed.includes(migrationId(name, { name: servers.since })))
      found.push(...(await em.execute<Server[]>(servers.query)))
  return found
}

/** A server that migrates now may not know this one; later ones do. */
async function untilMigrated(signals: Signals): Promise<void> {
  const question = `select pg_try_advisory_xact_lock_shared(${migrationKey}) as "isFree"`
  for (;;) {
    const [row] = await signals.query<{ isFree: boolean }>(question)
    if (row?.isFree) return
    await pause(50)
  }
}
