// A backup is one file: the store, with certificate, keys and operator token in an extra table.
import {
  chmodSync,
  closeSync,
  existsSync,
  openSync,
  readFileSync,
  readSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync
} from 'node:fs'
import { dirname, join, resolve } from 'node:path'
import type { EntityManager } from '@mikro-orm/sql'
import { timestamp } from '../../kernel/base/clock.ts'
import { Fault, reasonOf, wrongUsage } from '../../kernel/base/errors.ts'
import { isAtLeast } from '../../kernel/base/version-range.ts'
import type { Print } from '../../kernel/cli/command.ts'
import { sync } from '../../kernel/platform/sync-file.ts'
import { openStore } from '../../kernel/store/open.ts'
import { readPlace } from '../../kernel/store/sql/database.ts'
import type { PluginStore } from '../../kernel/store/sql/migrations.ts'
import { copyTo, damageIn, setMark } from '../../kernel/store/sqlite/dialect.ts'
import { certificateFile, currentCertificate, storeKeyFile } from '../certificate/exports.ts'
import { backupFailed } from './codes.ts'
import { requireOwnSchema } from './schema.ts'

const format = '1'
const applicationId = 0x736c6275 // 'slbu', in the header of the file

/** The rows of that table; certificates are PEM with their key. */
export interface Parts {
  readonly format: string
  readonly made_at: string
  readonly version: string // of the sluice that wrote it
  readonly certificate?: string
  readonly next_certificate?: string
  readonly operator_token?: string
  readonly store_key?: string // opens the secrets of plugins in the store
}

interface Source {
  readonly dataDir: string
  readonly keys: Readonly<Record<string, unknown>> // of the configuration
  readonly version: string
  readonly now: number
}

export async function onStore<T>(file: string, work: (em: EntityManager) => Promise<T>): Promise<T> {
  const store = await openStore(file, []) // without plugins: no migration runs
  try {
    return await store.read(work)
  } finally {
    await store.close()
  }
}

const saveDatabase = (url: string): string =>
  `save it with PostgreSQL's own program: pg_dump --format=custom --no-owner --file=sluice.dump '${url}'; and save the data directory: its store.key opens the certificate and the secrets that are in the database`

export const restoreDatabase = (url: string): string =>
  `stop the server, restore it with PostgreSQL's own program: pg_restore --clean --if-exists --no-owner --single-transaction --dbname='${url}' sluice.dump; then run sluice store renew with the store.key of its servers in the data directory`

/** Returns the file of the store. Throws Fault for a store in PostgreSQL, with the command to run instead. */
export function storeFileIn(
  { dataDir, keys }: Pick<Source, 'dataDir' | 'keys'>,
  instead: (url: string) => string
): string {
  const place = readPlace(keys, join(dataDir, 'sluice.db'))
  if (typeof place === 'string') return place
  throw new Fault(wrongUsage, `the store is in PostgreSQL: ${instead(place.url)}`)
}

/** Writes a backup, also beside a running server: SQLite copies the state that is committed at the start. */
export async function writeBackup(source: Source, to: string): Promise<{ file: string; bytes: number }> {
  const store = storeFileIn(source, saveDatabase)
  if (!existsSync(store))
    throw new Fault(wrongUsage, `there is no store in ${source.dataDir}; give its --data-dir or --config`)
  const file = backupFile(to, source.now)
  if (existsSync(file) && !isBackup(file))
    throw new Fault(wrongUsage, `${file} exists and is not a backup; it is not overwritten`)
  if (!existsSync(dirname(file))) throw new Fault(wrongUsage, `there is no directory ${dirname(file)}`)
  const draft = `${file}.${process.pid}.tmp`
  try {
    await onStore(store, em => copyTo(draft, em))
    chmodSync(draft, 0o600)
    await onStore(draft, em => addParts(partsOf(source), em))
    sync(draft)
    renameSync(draft, file)
    sync(dirname(file))
  } catch (cause) {
    if (cause instanceof Fault) throw cause
    const why = cause instanceof Error ? cause.message : String(cause)
    throw new Fault(backupFailed, `${store} was not written to ${file}: ${why}`, { cause })
  } finally {
    rmSync(draft, { force: true })
  }
  return { file, bytes: statSync(file).size }
}

/** Saves the time in the data directory, for `sluice doctor`. The backup succeeds even if that fails. */
export function noteBackup({ dataDir, now }: Source, { note }: Pick<Print, 'note'>): void {
  try {
    const file = join(dataDir, 'last-backup')
    rmSync(file, { force: true }) // root follows no link of the directory's owner
    writeFileSync(file, `${timestamp(now)}\n`, { mode: 0o600, flag: 'wx' })
  } catch (error) {
    note(`sluice doctor does not know of this backup: ${reasonOf(error)}`)
  }
}

function backupFile(to: string, now: number): string {
  const path = resolve(to)
  const isDir = existsSync(path) && statSync(path).isDirectory()
  const name = `sluice-${timestamp(now).replaceAll(/[-:]|\.\d+/g, '')}.backup`
  const file = isDir ? join(path, name) : path
  if (!existsSync(dirname(file))) throw new Fault(wrongUsage, `there is no directory ${dirname(file)}`)
  return file
}

function partsOf({ dataDir, keys, version, now }: Source): Parts {
  const current = currentCertificate(dataDir, keys)
  const text = (file: string): string | undefined =>
    existsSync(file) ? readFileSync(file, 'utf8') : undefined
  const next = text(certificateFile('next', dataDir))
  const token = text(join(dataDir, 'operator-token'))
  const storeKey = text(storeKeyFile(dataDir))
  return {
    format,
    made_at: timestamp(now),
    version,
    ...(current && { certificate: `${current.cert.trim()}\n${current.key.trim()}\n` }),
    ...(next !== undefined && { next_certificate: next }),
    ...(token !== undefined && { operator_token: token }),
    ...(storeKey !== undefined && { store_key: storeKey })
  }
}

async function addParts(parts: Parts, em: EntityManager): Promise<void> {
  await em.execute('create table sluice_backup (name text not null primary key, value text not null)')
  for (const row of Object.entries(parts)) await em.execute('insert into sluice_backup values (?, ?)', row)
  await setMark(applicationId, em)
}

const maxPart = 2 ** 20

/** Removes the parts from a copy of a backup, which leaves a plain store. Throws Fault for a newer version or a foreign schema. */
export async function unpack(
  file: string,
  ourVersion: string,
  stores: readonly PluginStore[]
): Promise<Parts> {
  return onStore(file, async em => {
    await requireOwnSchema(stores, em)
    const large = await em.execute('select name from sluice_backup where length(value) > ?', [maxPart])
    if (large.length > 0)
      throw new Fault(wrongUsage, 'the backup is refused: a certificate in it is too large')
    const rows = await em.execute<{ name: string; value: string }[]>('select name, value from sluice_backup')
    const parts = Object.fromEntries(rows.map(({ name, value }) => [name, value])) as unknown as Parts // checked next
    if (parts.format !== format || !isAtLeast(ourVersion, parts.version))
      throw new Fault(wrongUsage, `the backup was made by sluice ${parts.version}, this is ${ourVersion}`)
    const [damage] = await damageIn(em, 'whole')
    if (damage !== undefined) throw new Fault(wrongUsage, `the backup is damaged: ${damage}`)
    await em.execute('drop table sluice_backup')
    await setMark(0, em)
    return parts
  })
}

/** Reads only the header, because SQLite changes a file that it opens. */
export function isBackup(file: string): boolean {
  if (!statSync(file).isFile()) return false
  const header = Buffer.alloc(100)
  const fd = openSync(file, 'r')
  readSync(fd, header, 0, header.length, 0)
  closeSync(fd)
  return header.toString('latin1', 0, 16) === 'SQLite format 3\0' && header.readUInt32BE(68) === applicationId
}
