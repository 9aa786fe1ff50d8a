// The command `store migrate`: from the store of the configuration to another one, with the server stopped.
import { existsSync } from 'node:fs'
import { dirname, join, resolve } from 'node:path'
import { Fault, wrongUsage } from '../../../kernel/base/errors.ts'
import { Releases } from '../../../kernel/base/releases.ts'
import { inDependencyOrder } from '../../../kernel/dependency-order.ts'
import { pathArgument } from '../../../kernel/platform/path-problem.ts'
import { ownVersion } from '../../../kernel/platform/version.ts'
import { openDataDir } from '../../../kernel/store/data-dir.ts'
import { isStoreUrl, type Place, readPlace, storeUrls } from '../../../kernel/store/sql/database.ts'
import type { PluginStore } from '../../../kernel/store/sql/migrations.ts'
import { checkFilesystem } from '../../cli/exports.ts'
import { moveStore, naming } from './move.ts'
import type { Content } from './rows.ts'

interface Migration {
  readonly args: {
    readonly to: string
    readonly password_file?: string
    readonly leave_behind?: readonly string[]
  }
  readonly dataDir: string
  readonly keys: Readonly<Record<string, unknown>> // of the configuration
  readonly stores: readonly PluginStore[] // the kernel's first
}

export interface Migrated {
  readonly from: string // a URL or a file
  readonly to: string
  readonly rows: number
  readonly tables: readonly Content[]
}

/** Returns what was moved, and lines that say what to do next. */
export async function migrateStore(given: Migration): Promise<{ moved: Migrated; next: readonly string[] }> {
  const { args, dataDir, keys, stores } = given
  const from = readPlace(keys, join(dataDir, 'sluice.db'))
  const to = targetOf(given)
  if (typeof from === 'string' && typeof to === 'string')
    throw new Fault(wrongUsage, '--to: the store is in SQLite already; move it by sluice backup and restore')
  if (typeof from === 'string' && !existsSync(from))
    throw new Fault(wrongUsage, `there is no store in ${dataDir}; give its --data-dir or --config`)
  checkFilesystem(typeof to === 'string' ? dirname(to) : dataDir)
  const [kernel, ...plugins] = stores
  const releases = new Releases()
  try {
    openDataDir(dataDir, releases.defer)
    if (typeof to === 'string' && !existsSync(dirname(to)))
      throw new Fault(wrongUsage, `--to: there is no directory ${dirname(to)}`)
    const tables = await moveStore({
      from,
      to,
      dataDir,
      stores: [...(kernel ? [kernel] : []), ...inDependencyOrder(plugins)],
      version: ownVersion(),
      leftBehind: args.leave_behind ?? [],
      progress
    })
    const rows = tables.reduce((sum, table) => sum + table.rows, 0)
    const moved = { from: nameOf(from), to: nameOf(to), rows, tables }
    return { moved, next: [...start(to, given), ...later(to, given, moved)] }
  } finally {
    progress('')
    await releases.run()
  }
}

function targetOf({ args, dataDir, keys }: Migration): Place {
  const { to, password_file: passwordFile } = args
  const file = /^sqlite:(.+)$/.exec(to)?.[1]
  if (file !== undefined) return pathArgument('--to', file)
  if (!isStoreUrl(to)) {
    const password = 'give that as SVC_STORE_PASSWORD, in --password-file or in ~/.pgpass'
    throw new Fault(wrongUsage, `--to must be ${storeUrls}; ${password}`)
  }
  const own = join(dataDir, 'sluice.db')
  if (passwordFile === undefined) return readPlace({ ...keys, store_url: to }, own)
  try {
    return readPlace({ store_url: to, store_password_file: passwordFile }, own)
  } catch (error) {
    return naming('store_password_file', '--password-file')(error)
  }
}

const nameOf = (place: Place): string => (typeof place === 'string' ? place : place.url)

function start(to: Place, { args: { password_file: passwordFile }, dataDir }: Migration): string[] {
  const key = (name: string, value: string): string => `${name} = ${JSON.stringify(value)}`
  if (typeof to !== 'string') {
    const password = passwordFile === undefined ? [] : [key('store_password_file', resolve(passwordFile))]
    const keys = [key('store_url', to.url), ...password].join(' and ')
    return [`Next: set ${keys} in the configuration of the server, and start it.`]
  }
  return to === join(dataDir, 'sluice.db')
    ? ['Next: set store_url = "sqlite:" in the configuration of the server, or leave it out, and start it.']
    : [`Next: put ${to} as sluice.db into the data directory of a server without store_url, and start it.`]
}

const later = (to: Place, { dataDir }: Migration, { from }: Migrated): string[] => [
  typeof to === 'string'
    ? `Its agents reconnect by themselves. A certificate that the server had made itself is in ${dirname(to)}.`
    : 'Its agents reconnect by themselves. A certificate that the server had made itself is in the database, and ' +
      `store.key in ${dataDir} opens it: save that file, and copy it to each server that joins.`,
  `The operator token of sluice up stays in ${dataDir}.`,
  `The old store is as it was: ${from}. If a server is to use it again, run sluice store renew first.`
]

/** Rewrites one line of a terminal. */
function progress(text: string): void {
  if (process.stderr.isTTY) process.stderr.write(`\r\x1b[K${text}`)
}
