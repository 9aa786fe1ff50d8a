// Restores a backup into a data directory: builds the store beside the old one, and renames it at the very end.
import {
  chmodSync,
  copyFileSync,
  existsSync,
  linkSync,
  mkdirSync,
  renameSync,
  rmSync,
  writeFileSync
} from 'node:fs'
import { join, resolve } from 'node:path'
import { timestamp } from '../../kernel/base/clock.ts'
import { dataDirUnusable, Fault, reasonOf, storeInUse, wrongUsage } from '../../kernel/base/errors.ts'
import { Releases } from '../../kernel/base/releases.ts'
import { sync } from '../../kernel/platform/sync-file.ts'
import { openDataDir } from '../../kernel/store/data-dir.ts'
import type { Revocation } from '../../kernel/store/revocation.ts'
import type { PluginStore } from '../../kernel/store/sql/migrations.ts'
import { emptyLog } from '../../kernel/store/sqlite/dialect.ts'
import {
  certificateFile,
  namedCertificates,
  readCertificate,
  restoredFile,
  settleFiles,
  storeKeyFile
} from '../certificate/exports.ts'
import { checkFilesystem } from '../cli/exports.ts'
import { isBackup, onStore, type Parts, unpack } from './file.ts'
import { renew } from './renewal.ts'
import type { RevokedAgain } from './revocations.ts'

interface Restore {
  readonly file: string
  readonly dataDir: string
  readonly oldDir: string | undefined // the data directory of the lost store
  readonly revocations: readonly Revocation[] // of plugins
  readonly stores: readonly PluginStore[] // of kernel and plugins
  readonly version: string
  readonly now: number
}

export interface Restored {
  readonly data_dir: string
  readonly made_at: string
  readonly set_aside: string | null // path of the earlier files
  readonly revoked_since: readonly RevokedAgain[] | null // null: the lost store could not be read
  readonly warnings: readonly string[]
}

export async function restore(options: Restore): Promise<Restored> {
  const { file, dataDir, now } = options
  requireBackup(file)
  checkFilesystem(dataDir)
  const releases = new Releases()
  try {
    const store = openDataDir(dataDir, releases.defer)
    const draft = join(dataDir, 'restore.new')
    const removeDrafts = (): void => {
      for (const path of [draft, `${draft}-wal`, `${draft}-shm`, ...restoredFiles(dataDir)])
        rmSync(path, { force: true })
    }
    removeDrafts() // of a restore that was killed: a log that stayed would be applied to the new draft
    releases.defer(removeDrafts)
    const { parts, revoked, warnings, named } = await prepare(options, draft)
    await closeStore(store)
    const aside = setAside(dataDir, now)
    sync(dataDir)
    renameSync(draft, store) // before it the old store is complete, after it the new one
    sync(dataDir)
    settleFiles(dataDir, named) // after a crash the next start does it
    settleStoreKey(dataDir) // as does the plugin `secrets`
    return { data_dir: dataDir, made_at: parts.made_at, set_aside: aside, revoked_since: revoked, warnings }
  } catch (cause) {
    if (cause instanceof Fault) throw cause
    throw new Fault(dataDirUnusable, `the restore into ${dataDir} failed: ${reasonOf(cause)}`, { cause })
  } finally {
    await releases.run()
  }
}

/** Makes the new store and its certificates beside the old ones, and checks them. */
async function prepare({ file, dataDir, oldDir, revocations, stores, version, now }: Restore, draft: string) {
  copyFileSync(file, draft)
  chmodSync(draft, 0o600)
  const parts = await unpack(draft, version, stores).catch(damaged(file))
  const from = oldDir === undefined ? dataDir : resolve(oldDir)
  if (oldDir !== undefined && !existsSync(join(from, 'sluice.db')))
    throw new Fault(wrongUsage, `there is no store in ${from}; leave --revocations-from out, or name another`)
  const { certificate, ...renewed } = await onStore(draft, em => renew(from, revocations, now, em))
  const named = await onStore(draft, namedCertificates)
  sync(draft)
  writeParts(dataDir, parts, certificate)
  return { ...renewed, parts, named }
}

function requireBackup(file: string): void {
  let found: boolean
  try {
    found = isBackup(file)
  } catch (cause) {
    throw new Fault(wrongUsage, `${file} cannot be read: ${reasonOf(cause)}`, { cause })
  }
  if (!found) throw new Fault(wrongUsage, `${file} is not a backup of sluice`)
}

const restoredFiles = (dataDir: string): string[] =>
  [certificateFile('own', dataDir), certificateFile('next', dataDir), storeKeyFile(dataDir)].map(restoredFile)

function settleStoreKey(dataDir: string): void {
  const file = storeKeyFile(dataDir)
  if (!existsSync(restoredFile(file))) return
  renameSync(restoredFile(file), file)
  sync(dataDir)
}

/** Writes the log of the old store into its file, so that one rename replaces it. A damaged store stays with its log. */
async function closeStore(store: string): Promise<void> {
  if (!existsSync(store)) return
  const isEmpty = await onStore(store, emptyLog).catch(() => true) // the old store stays beside the new one, and the warning of `renew` names it
  if (!isEmpty) throw new Fault(storeInUse, `another command reads ${store}; try again when it has ended`)
}

/** Throws Fault that reports any error of SQLite as a damaged backup. */
const damaged =
  (file: string) =>
  (error: unknown): never => {
    if (error instanceof Fault) throw error
    throw new Fault(wrongUsage, `${file} is damaged: ${String(error)}; take another backup`, { cause: error })
  }

const ownFiles = ['sluice.db', 'sluice.db-wal', 'control.pem', 'control.next.pem', 'store.key']

/** Links the old files into a new directory. The log that it removes is empty, or belongs to a damaged store. */
function setAside(dataDir: string, now: number): string | null {
  const present = ownFiles.filter(name => existsSync(join(dataDir, name)))
  if (present.length === 0) return null
  const aside = join(dataDir, `before-restore-${timestamp(now).replaceAll(/[-:.]/g, '')}`)
  mkdirSync(aside, { mode: 0o700 })
  for (const name of present) linkSync(join(dataDir, name), join(aside, name))
  sync(aside)
  for (const name of ['sluice.db-wal', 'sluice.db-shm']) rmSync(join(dataDir, name), { force: true })
  return aside
}

/** Writes drafts of the certificates, and checks them before anything is replaced. */
function writeParts(dataDir: string, parts: Parts, certificate: string | null): void {
  const put = (file: string, text: string | undefined): void => {
    if (text === undefined) return
    rmSync(restoredFile(file), { force: true })
    writeFileSync(restoredFile(file), text, { mode: 0o600, flag: 'wx', flush: true })
    readCertificate({ certPath: restoredFile(file) })
  }
  put(certificateFile('own', dataDir), certificate ?? parts.certificate)
  if (certificate === null) put(certificateFile('next', dataDir), parts.next_certificate)
  if (parts.store_key !== undefined) writeStoreKey(dataDir, parts.store_key)
  const token = join(dataDir, 'operator-token')
  if (parts.operator_token === undefined || existsSync(token)) return
  if (!/^[\x21-\x7e]{8,512}\n?$/.test(parts.operator_token))
    throw new Fault(wrongUsage, 'the backup is refused: its operator token is malformed')
  rmSync(`${token}.new`, { force: true })
  writeFileSync(`${token}.new`, parts.operator_token, { mode: 0o600, flag: 'wx', flush: true })
  renameSync(`${token}.new`, token)
}

function writeStoreKey(dataDir: string, text: string): void {
  if (!/^[\w-]{43}\n?$/.test(text))
    throw new Fault(wrongUsage, 'the backup is refused: its store.key is malformed')
  const draft = restoredFile(storeKeyFile(dataDir))
  rmSync(draft, { force: true })
  writeFileSync(draft, text, { mode: 0o600, flag: 'wx', flush: true })
}
