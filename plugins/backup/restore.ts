// A backup becomes the store of a data directory: built aside, and put in place at the very end.
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
import { nextFile, ownFile } from '../control/exports.ts'
import { isBackup, onStore, type Parts, sync, unpack } from './file.ts'
import { renew } from './renew.ts'
import type { Said } from './revocations.ts'

interface Restore {
  readonly file: string
  readonly dataDir: string
  readonly oldDir: string | undefined // where the store lies whose revocations count
  readonly version: string
  readonly now: number
}

export interface Restored {
  readonly data_dir: string
  readonly made_at: string
  readonly set_aside: string | null // what was in the directory before
  readonly revoked_since: readonly Said[] | null // null: there was no store to learn it from
  readonly warnings: readonly string[]
}

export async function restore({ file, dataDir, oldDir, version, now }: Restore): Promise<Restored> {
  if (!existsSync(file) || !isBackup(file)) throw new Fault(wrongUsage, `${file} is no backup of sluice`)
  const releases = new Releases()
  try {
    const store = await openDataDir(dataDir, releases.defer)
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
    const { said, leaf, warnings } = await onStore(draft, em => renew(from, now, em))
    sync(draft)
    const aside = setAside(dataDir, now)
    putBeside(dataDir, parts, leaf)
    renameSync(draft, store)
    sync(dataDir)
    return {
      data_dir: dataDir,
      made_at: parts.made_at,
      set_aside: aside,
      revoked_since: said,
      warnings
    }
  } finally {
    await releases.run()
  }
}

/** What SQLite says of a file that breaks off. */
const damaged =
  (file: string) =>
  (error: unknown): never => {
    if (error instanceof Fault) throw error
    throw new Fault(wrongUsage, `${file} is damaged: ${String(error)}; take another backup`, { cause: error })
  }

const kept = ['sluice.db', 'sluice.db-wal', 'control.pem', 'control.next.pem']

/** Nothing of what was there is lost. The store stays in place until the new one takes its name. */
function setAside(dataDir: string, now: number): string | null {
  const there = kept.filter(name => existsSync(join(dataDir, name)))
  if (there.length === 0) return null
  const aside = join(dataDir, `before-restore-${timestamp(now).replaceAll(/[-:]|\.\d+/g, '')}`)
  mkdirSync(aside, { mode: 0o700 })
  for (const name of there) linkSync(join(dataDir, name), join(aside, name))
  for (const name of ['sluice.db-wal', 'sluice.db-shm', 'control.next.pem'])
    rmSync(join(dataDir, name), { force: true })
  sync(aside)
  return aside
}

function putBeside(dataDir: string, parts: Parts, leaf: string | null): void {
  const put = (file: string, text: string | undefined): void => {
    if (text === undefined) return
    writeFileSync(`${file}.new`, text, { mode: 0o600, flush: true })
    renameSync(`${file}.new`, file)
  }
  put(ownFile(dataDir), leaf ?? parts.certificate)
  if (leaf === null) put(nextFile(dataDir), parts.next_certificate)
  const token = join(dataDir, 'operator-token')
  if (!existsSync(token)) put(token, parts.operator_token)
}
