// What a restored store must not have of the one that was backed up.
import { randomBytes } from 'node:crypto'
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { EntityManager } from '@mikro-orm/sql'
import { ownFile } from '../control/exports.ts'
import { endUncertain, revokeAgain, type Said } from './revocations.ts'

interface Renewed {
  readonly said: readonly Said[] | null
  readonly leaf: string | null // of the old directory, where agents pin that one by now
  readonly warnings: readonly string[]
}

/** Another generation: its revisions say nothing to agents that know the one before. */
export async function renew(oldDir: string, now: number, em: EntityManager): Promise<Renewed> {
  const before = await factOf('main', 'generation', em)
  const lineage = (await factOf('main', 'lineage', em)) ?? before ?? ''
  const put = (name: string, value: string) =>
    em.execute('insert or replace into kernel_fact (name, value) values (?, ?)', [name, value], 'run')
  await put('lineage', lineage)
  await put('generation', randomBytes(16).toString('hex'))
  await endUncertain(em)
  const old = join(oldDir, 'sluice.db')
  if (!existsSync(old)) return unread(`there is none in ${oldDir}`)
  try {
    await em.execute('attach database ? as old', [old], 'run')
    if (((await factOf('old', 'lineage', em)) ?? (await factOf('old', 'generation', em))) !== lineage)
      return unread(`${old} is not what became of this backup`)
    return await whole(em, async () => ({ said: await revokeAgain(em, now), ...(await leafOf(oldDir, em)) }))
  } catch (error) {
    return unread(`${old}: ${String(error)}`) // it may be damaged: that is what backups are for
  }
}

/** All of it or nothing, where a store cannot be read to its end. */
async function whole<T>(em: EntityManager, work: () => Promise<T>): Promise<T> {
  await em.execute('begin', [], 'run')
  try {
    const done = await work()
    await em.execute('commit', [], 'run')
    return done
  } catch (error) {
    await em.execute('rollback', [], 'run')
    throw error
  }
}

const unread = (why: string): Renewed => ({
  said: null,
  leaf: null,
  warnings: [
    `The old store could not be read (${why}): what was revoked after the backup holds again. ` +
      'Look through clients, users, credentials and grants.'
  ]
})

/** The certificate may have been rotated after the backup: agents pin the later one. */
async function leafOf(oldDir: string, em: EntityManager): Promise<Pick<Renewed, 'leaf' | 'warnings'>> {
  const pinned = await factOf('old', 'leaf', em)
  if (pinned === null || pinned === (await factOf('main', 'leaf', em))) return { leaf: null, warnings: [] }
  const file = ownFile(oldDir)
  if (!existsSync(file))
    return { leaf: null, warnings: [`Agents pin the certificate ${pinned}, which is not in ${oldDir}.`] }
  await em.execute(`update kernel_fact set value = ? where name = 'leaf'`, [pinned], 'run')
  await em.execute(`delete from kernel_fact where name = 'next_leaf'`, [], 'run')
  return { leaf: readFileSync(file, 'utf8'), warnings: [] }
}

async function factOf(schema: 'main' | 'old', name: string, em: EntityManager): Promise<string | null> {
  const rows = await em.execute<{ value: string }[]>(
    `select value from ${schema}.kernel_fact where name = ?`,
    [name]
  )
  return rows[0]?.value ?? null
}
