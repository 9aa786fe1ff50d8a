// The changes to a restored store: a new generation, repeated revocations, and a certificate rotated since the backup.
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { EntityManager } from '@mikro-orm/sql'
import type { Revocation } from '../../kernel/store/revocation.ts'
import { attachOld } from '../../kernel/store/sqlite/dialect.ts'
import { certificateFile, readCertificate } from '../certificate/exports.ts'
import { beginGeneration } from '../servers/exports.ts'
import { type RevokedAgain, revocationsIn, revokeAgain } from './revocations.ts'

interface Renewed {
  readonly revoked: readonly RevokedAgain[] | null // null: the lost store could not be read
  readonly certificate: string | null // PEM, if agents pin a later one than the backup's
  readonly warnings: readonly string[]
}

/**
 * Begins a new generation, so that agents do not compare revisions with those before the restore, and repeats what the
 * store in `oldDir` has revoked since the backup.
 */
export async function renew(
  oldDir: string,
  revocations: readonly Revocation[],
  now: number,
  em: EntityManager
): Promise<Renewed> {
  const lineage = await beginGeneration(await revocationsIn(revocations, em), em)
  const old = join(oldDir, 'sluice.db')
  if (!existsSync(old)) return unread(`there is none in ${oldDir}`)
  try {
    await attachOld(old, em)
    if (((await oldValue('lineage', em)) ?? (await oldValue('generation', em))) !== lineage)
      return unread(`${old} is not a later state of this backup`)
    return await inTransaction(em, async () => {
      const { revoked, warnings } = await revokeAgain(revocations, now, em)
      const found = await certificateOf(oldDir, em)
      return { ...found, revoked, warnings: [...warnings, ...found.warnings] }
    })
  } catch (error) {
    return unread(`${old}: ${String(error)}`) // a damaged old store must not prevent the restore
  }
}

/** Rolls back if a part of the old store cannot be read. */
async function inTransaction<T>(em: EntityManager, work: () => Promise<T>): Promise<T> {
  await em.execute('begin', [], 'run')
  try {
    const result = await work()
    await em.execute('commit', [], 'run')
    return result
  } catch (error) {
    await em.execute('rollback', [], 'run')
    throw error
  }
}

const unread = (why: string): Renewed => ({
  revoked: null,
  certificate: null,
  warnings: [
    `The old store could not be read (${why}): what was revoked after the backup is valid again. ` +
      'Check clients, users, tokens and grants.'
  ]
})

/** Takes over a certificate that was rotated after the backup: agents pin the later one. */
async function certificateOf(
  oldDir: string,
  em: EntityManager
): Promise<Pick<Renewed, 'certificate' | 'warnings'>> {
  const pinned = await oldValue('leaf', em)
  if (pinned === null || pinned === (await storeValue('leaf', em))) return { certificate: null, warnings: [] }
  const file = certificateFile('own', oldDir)
  if (!existsSync(file) || readCertificate({ certPath: file }).fingerprint !== pinned)
    return {
      certificate: null,
      warnings: [`Agents pin the certificate ${pinned}, which is not in ${oldDir}.`]
    }
  await em.execute(`update kernel_store_value set value = ? where name = 'leaf'`, [pinned], 'run')
  await em.execute(`delete from kernel_store_value where name = 'next_leaf'`, [], 'run')
  return { certificate: readFileSync(file, 'utf8'), warnings: [] }
}

async function storeValue(
  name: string,
  em: EntityManager,
  table = 'kernel_store_value'
): Promise<string | null> {
  const rows = await em.execute<{ value: string }[]>(`select value from ${table} where name = ?`, [name])
  return rows[0]?.value ?? null
}

const oldValue = (name: string, em: EntityManager) => storeValue(name, em, 'old.kernel_store_value')
