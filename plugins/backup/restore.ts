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
import { Fault, wrongUsage } from '../../kernel/base/errors.ts'
import { Releases } from '../../kernel/base/releases.ts'
import { openDataDir } from '../../kernel/store/data-dir.ts'
import type { Revocation } from '../../kernel/store/revocation.ts'
import { checkFilesystem } from '../cli/exports.ts'
import { nextFile, ownFile } from '../control/exports.ts'
import { isBackup, onStore, type Parts, sync, unpack } from './file.ts'
import { renew } from './renewal.ts'
import type { RevokedAgain } from './revocations.ts'

interface Restore {
  readonly file: string
  readonly dataDir: string
  readonly oldDir: string | undefined // the data directory of the lost store
  readonly revocations: readonly Revocation[] // of plugins
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
  const { file, dataDir, oldDir, revocations, version, now } = options
  if (!existsSync(file) || !isBackup(file)) throw new Fault(wrongUsage, `${file} is not a backup of sluice`)
  const releases = new Releases()
  try {
    checkFilesystem(dataDir)
    const store = openDataDir(dataDir, releases.defer)
    const draft = join(dataDir, 'restore.new')
    releases.defer(() => rmSync(draft, { force: true }))
    copyFileSync(file, draft)
    chmodSync(draft, 0o600)
    const parts = await unpack(draft, version).catch(damaged(file))
    const from = oldDir === undefined ? dataDir : resolve(oldDir)
    if (oldDir !== undefined && !existsSync(join(from, 'sluice.db')))
      throw new Fault(
        wrongUsage,
        `there is no store in ${from}; leave --revocations-from out, or name another`
      )
    const { revoked, certificate, warnings } = await onStore(draft, em => renew(from, revocations, now, em))
    sync(draft)
    const aside = setAside(dataDir, now)
    writeParts(dataDir, parts, certificate)
    renameSync(draft, store)
    sync(dataDir)
    return {
      data_dir: dataDir,
      made_at: parts.made_at,
      set_aside: aside,
      revoked_since: revoked,
      warnings
    }
  } finally {
    await releases.run()
  }
}

/** Reports any error of SQLite as a damaged backup. */
const damaged =
  (file: string) =>
  (error: unknown): never => {
    if (error instanceof Fault) throw error
    throw new Fault(wrongUsage, `${file} is damaged: ${String(error)}; take another backup`, { cause: error })
  }

const ownFiles = ['sluice.db', 'sluice.db-wal', 'control.pem', 'control.next.pem']

/**
 * Links the present files into a new directory, and removes the log and the staged certificate here. Store and
 * certificate also stay in place until the new ones are renamed over them.
 */
function setAside(dataDir: string, now: number): string | null {
  const present = ownFiles.filter(name => existsSync(join(dataDir, name)))
  if (present.length === 0) return null
  const aside = join(dataDir, `before-restore-${timestamp(now).replaceAll(/[-:]|\.\d+/g, '')}`)
  mkdirSync(aside, { mode: 0o700 })
  for (const name of present) linkSync(join(dataDir, name), join(aside, name))
  for (const name of ['sluice.db-wal', 'sluice.db-shm', 'control.next.pem'])
    rmSync(join(dataDir, name), { force: true })
  sync(aside)
  return aside
}

function writeParts(dataDir: string, parts: Parts, certificate: string | null): void {
  const put = (file: string, text: string | undefined): void => {
    if (text === undefined) return
    writeFileSync(`${file}.new`, text, { mode: 0o600, flush: true })
    renameSync(`${file}.new`, file)
  }
  put(ownFile(dataDir), certificate ?? parts.certificate)
  if (certificate === null) put(nextFile(dataDir), parts.next_certificate)
  const token = join(dataDir, 'operator-token')
  if (!existsSync(token)) put(token, parts.operator_token)
}
