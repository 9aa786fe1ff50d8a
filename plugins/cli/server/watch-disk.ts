// Classifies a failed write: either the disk refuses writes for now, or it is broken and the process must stop.
import { rmSync, statSync, writeFileSync } from 'node:fs'
import { Fault, reasonOf, storeUnavailable } from '../../../kernel/base/errors.ts'
import type { Disk } from '../../../kernel/store/open.ts'
import { copyStore } from './copy-store.ts'

const unavailable = (why: string, cause?: unknown): Fault =>
  new Fault(storeUnavailable, `the store accepts no changes at present: ${why}; nothing was changed`, {
    cause,
    details: { retry_after_secs: 5 }
  })

interface Options {
  readonly onFailure: (error: Error) => void
  readonly onCopied: (copy: string) => void // before a migration
}

export function watchDisk(file: string, { onFailure, onCopied }: Options): Disk {
  const { dev, ino } = statSync(file)

  /** Throws if the file was removed, because SQLite would keep writing to it. */
  function requireWritable(): void {
    const now = statSync(file, { throwIfNoEntry: false })
    if (now?.dev === dev && now.ino === ino) return
    const fault = unavailable('its directory is gone')
    onFailure(fault)
    throw fault
  }

  function failed(error: unknown): never {
    for (let cause = error; cause instanceof Error; cause = cause.cause) {
      const [, code] =
        /^SQLITE_(BUSY|LOCKED|FULL|READONLY|CANTOPEN|IOERR\w*|CORRUPT|NOTADB)/.exec(codeOf(cause)) ?? []
      if (code === undefined) continue
      const isBroken = /CORRUPT|NOTADB|FSYNC/.test(code) // after a failed fsync, data may be lost
      const refusal = isBroken ? null : refusalFor(code, cause, file)
      const reported = refusal === null ? cause : unavailable(refusal, error)
      onFailure(reported)
      throw refusal === null ? error : reported
    }
    throw error
  }

  return {
    requireWritable,
    failed,
    beforeMigrations: async copyTo => onCopied(await copyStore(file, copyTo))
  }
}

function refusalFor(code: string, cause: Error, file: string): string | null {
  if (/BUSY|LOCKED/.test(code)) return `another program has locked ${file}; end it`
  return code.startsWith('IOERR') ? writeRefusal(file) : reasonOf(cause)
}

export const codeOf = (error: Error): string => ('code' in error ? String(error.code) : '')

/**
 * Returns why the filesystem refuses writes: it is full or read-only, or a quota is used up. Returns null if it does not, as with
 * a failing disk: SQLite has the same error for both.
 */
export function writeRefusal(file: string): string | null {
  const probe = `${file}.probe`
  try {
    writeFileSync(probe, Buffer.alloc(4096), { mode: 0o600, flush: true })
    return null
  } catch (error) {
    return error instanceof Error && /^(ENOSPC|EDQUOT|EROFS)$/.test(codeOf(error)) ? error.message : null
  } finally {
    rmSync(probe, { force: true })
  }
}
