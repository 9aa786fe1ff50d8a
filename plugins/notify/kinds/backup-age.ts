// The kind `backup_old`: the command `backup` writes its time into the data directory.
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Kernel } from '../../../kernel/plugin.ts'
import { mayBeShared } from '../../../kernel/store/sql/database.ts'
import type { OwnKind } from '../kind-registry.ts'
import { fine, type Objects } from '../objects.ts'

const kind = 'backup_old'
const oldMs = 48 * 3_600_000

export const backupKind: OwnKind = { kind, summarize: () => 'the last backup is older than 48 hours' }

export interface BackupAge {
  /** Notes whether the last backup is old. Does nothing before the first one, and with PostgreSQL. */
  look(): Promise<void>
}

interface Deps extends Pick<Kernel, 'clock' | 'store' | 'dataDir'> {
  readonly objects: Objects
}

export const openBackupAge = ({ clock, store, dataDir, objects }: Deps): BackupAge => ({
  async look() {
    const text = readRecord(join(dataDir, 'last-backup'))
    if (text === null || Number.isNaN(Date.parse(text))) return
    const isOld = clock.now() - Date.parse(text) > oldMs
    const about = { subject: kind, object: 'backup', name: `made at ${text}`, owner: null }
    const state = isOld ? { state: 'old', kind } : { state: fine, kind: null }
    await store.change(async em => {
      if (!mayBeShared(em)) await objects.observe({ ...about, ...state }, em)
    })
  }
})

/** Returns null without the file. */
function readRecord(file: string): string | null {
  try {
    return readFileSync(file, 'utf8').trim()
  } catch (error) {
    if (error instanceof Error && Reflect.get(error, 'code') === 'ENOENT') return null
    throw error
  }
}
