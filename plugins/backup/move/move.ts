// Moves a whole store into an empty database. It reads everything again and compares it, or moves nothing.
import { existsSync, renameSync, rmSync } from 'node:fs'
import { dirname } from 'node:path'
import type { EntityManager } from '@mikro-orm/sql'
import { Fault, reasonOf, storeOutcomeUnknown, storeUnavailable } from '../../../kernel/base/errors.ts'
import { Releases } from '../../../kernel/base/releases.ts'
import { sync, syncDir } from '../../../kernel/platform/sync-file.ts'
import type { CopiedTable, Kind } from '../../../kernel/store/sql/copy.ts'
import { mayBeShared, type Place, type PostgresPlace } from '../../../kernel/store/sql/database.ts'
import type { PluginStore } from '../../../kernel/store/sql/migrations.ts'
import { type CertificateSet, readCertificates, replaceSealed } from '../../certificate/exports.ts'
import { forgetCluster } from '../../servers/exports.ts'
import { copyDiffers, notMovable, targetNotEmpty } from '../codes.ts'
import { requireNoOthers, writeFiles } from './certificates.ts'
import { type End, openEnd } from './end.ts'
import { type Content, readRows, type Table } from './rows.ts'
import { absentPlugins, type Known, ownTable, requireLeft } from './source.ts'

export interface Move extends Known {
  readonly from: Place
  readonly to: Place
  readonly dataDir: string // with the certificates, or the key that opens them
  readonly leftBehind: readonly string[] // plugins, or tables of none
  readonly progress: (text: string) => void
}

/** Returns the content of each table. The server of the source must stay stopped. */
export const moveStore = (move: Move): Promise<readonly Content[]> =>
  typeof move.to === 'string' ? moveToFile(move, move.to) : moveToDatabase(move, move.to)

/** Makes the file beside its place, and renames it at the end. */
async function moveToFile(move: Move, file: string): Promise<readonly Content[]> {
  const found = filesOf(file).filter(name => existsSync(name))
  if (found.length > 0)
    throw new Fault(
      targetNotEmpty,
      `--to: ${found.join(' and ')} must not exist: rename them, or remove what you no longer need`
    )
  const draft = `${file}.moving`
  const removeDraft = (): void => {
    for (const name of filesOf(draft)) rmSync(name, { force: true })
  }
  removeDraft() // of a move that was killed
  try {
    const { contents, certificates } = await copyStore(move, draft)
    if (existsSync(`${draft}-wal`)) throw new TypeError('the new store is not whole without its log')
    sync(draft)
    writeFiles(dirname(file), certificates)
    renameSync(draft, file)
    syncDir(dirname(file))
    return contents
  } finally {
    removeDraft()
  }
}

const filesOf = (file: string): string[] => ['', '-wal', '-shm'].map(ending => `${file}${ending}`)

/** Checks for a store before it locks the database: that is the better error for a database in use. */
async function moveToDatabase(move: Move, to: PostgresPlace): Promise<readonly Content[]> {
  const target = await openTarget(to, [], false)
  await target.within(em => requireEmpty(target, move.stores, em)).finally(target.close)
  return (await copyStore(move, to)).contents
}

interface Copied {
  readonly contents: readonly Content[]
  readonly certificates: CertificateSet
}

async function copyStore(move: Move, to: Place): Promise<Copied> {
  const releases = new Releases()
  try {
    const source = await openEnd(move.from, [], true)
    releases.defer(source.close)
    const target = await openTarget(to, move.stores, true)
    releases.defer(target.close)
    return await target.within(em => copyAll(source, target, move, em))
  } catch (error) {
    throw failure(error)
  } finally {
    await releases.run()
  }
}

/** Turns any error into a Fault, such as one of a full disk or a damaged store. A TypeError is a bug of ours. */
function failure(error: unknown): unknown {
  if (error instanceof TypeError) return error
  if (!(error instanceof Fault))
    return new Fault(
      storeUnavailable,
      `the store was not moved: ${reasonOf(error)}; --to has nothing of it, and the old store is unchanged`,
      { cause: error }
    )
  if (error.errorCode !== storeOutcomeUnknown) return error
  const message =
    'the connection to --to was lost at the last step: move again; if --to is no longer empty, everything was moved'
  return new Fault(storeOutcomeUnknown, message, { cause: error })
}

const openTarget: typeof openEnd = (...place) => openEnd(...place).catch(naming('store_url', '--to'))

/** Makes an error name the flag instead of the configuration key. */
export const naming =
  (key: string, flag: string) =>
  (error: unknown): never => {
    if (!(error instanceof Fault)) throw error
    throw new Fault(error.errorCode, error.message.replaceAll(key, flag), { cause: error })
  }

/** Returns the names of foreign tables in the target. Throws Fault if it has a store. */
async function requireEmpty(
  target: End,
  stores: readonly PluginStore[],
  em: EntityManager
): Promise<ReadonlySet<string>> {
  const ours = stores.flatMap(({ store }) => store?.entities ?? []).map(({ meta }) => meta.tableName)
  const held = new Set((await target.words.tables(em)).map(({ name }) => name))
  const found = [ownTable, ...ours].find(name => held.has(name))
  if (found === undefined) return held
  throw new Fault(
    targetNotEmpty,
    `--to: the database holds a store already, or a table of that name (${found}); name an empty one, which is made ` +
      `by: create database NAME owner USER encoding 'UTF8' template template0`
  )
}

/** A part of one transaction of the target. */
async function copyAll(source: End, target: End, move: Move, into: EntityManager): Promise<Copied> {
  const others = await requireEmpty(target, move.stores, into)
  await target.makeTables(into)
  const made = (await target.words.tables(into)).filter(({ name }) => name !== ownTable && !others.has(name))
  const { tables, sent, last, certificates } = await source.within(async from => {
    const tables = parentsFirst(await moved(made, await source.words.tables(from), move, from))
    const certificates = await certificatesToMove(from, into, move)
    const progress = await openProgress(tables, move.progress, from)
    const sent: Content[] = []
    for (const table of tables)
      sent.push(
        await readRows(table, from, async rows => {
          await target.words.write(table, rows, into)
          progress('copied', rows.length)
        })
      )
    return { tables, sent, certificates, last: await source.words.lastNumbers(from) }
  })
  const progress = await openProgress(tables, move.progress, into)
  for (const [at, table] of tables.entries()) {
    requireEqual(sent[at], await readRows(table, into, async rows => progress('compared', rows.length)))
    await target.words.continueAfter(last.get(table.name), table, into)
  }
  await forgetCluster(into) // the target is another database, with nothing older in it
  if (certificates) await replaceSealed(move.dataDir, certificates, into)
  return { contents: sent, certificates: certificates ?? new Map() }
}

/** Returns null for a move between PostgreSQL databases, where rows stay sealed by the same key. */
async function certificatesToMove(
  from: EntityManager,
  into: EntityManager,
  move: Move
): Promise<CertificateSet | null> {
  if (mayBeShared(from) && mayBeShared(into)) return null
  const certificates = await readCertificates(move.dataDir, from)
  if (typeof move.to === 'string') requireNoOthers(dirname(move.to), certificates)
  return certificates
}

/** Returns the tables to move, with the kinds of their columns. Throws Fault if the source differs from the target. */
async function moved(
  made: readonly CopiedTable[],
  held: readonly CopiedTable[],
  move: Move,
  from: EntityManager
): Promise<Table[]> {
  const absent = await absentPlugins(held, move, from)
  const names = new Set([ownTable, ...made.map(({ name }) => name)])
  const staying = held.map(({ name }) => name).filter(name => !names.has(name))
  requireLeft(staying, absent, move.leftBehind)
  return made.map(table => {
    const own = held.find(({ name }) => name === table.name)?.columns ?? new Map<string, Kind | null>()
    const other = [...new Set(own.keys()).symmetricDifference(table.columns)]
    if (other.length > 0) throw unlike(table.name, `${other.join(', ')} is only in one of both`)
    if (table.key.length === 0) throw unlike(table.name, 'it has no primary key')
    const columns = Array.from(table.columns, ([name, kind]) => {
      const known = kind ?? own.get(name)
      if (known) return [name, known] as const
      throw unlike(table.name, `the type of ${name} is none that sluice knows`)
    })
    return { ...table, columns: new Map(columns) }
  })
}

const unlike = (table: string, why: string): Fault =>
  new Fault(
    notMovable,
    `the table ${table} differs from the one that its plugin makes: ${why}; it cannot be moved`
  )

/** Orders tables so that referenced rows are written first. */
function parentsFirst(tables: readonly Table[]): Table[] {
  const ordered: Table[] = []
  const seen = new Set<string>()
  const place = (table: Table): void => {
    if (seen.has(table.name)) return
    seen.add(table.name)
    for (const parent of tables.filter(({ name }) => table.parents.includes(name))) place(parent)
    ordered.push(table)
  }
  for (const table of tables) place(table)
  return ordered
}

async function openProgress(tables: readonly Table[], tell: Move['progress'], em: EntityManager) {
  let all = 0
  for (const { name } of tables) {
    const [row] = await em.execute<{ count: number }[]>(`select count(*) as count from "${name}"`)
    all += row?.count ?? 0
  }
  let done = 0
  return (what: string, rows: number): void => {
    done += rows
    tell(`${what} ${done} of ${all} rows`)
  }
}

function requireEqual(sent: Content | undefined, found: Content): void {
  if (sent?.rows === found.rows && sent.sha256 === found.sha256) return
  const inWords = (content: Content | undefined) => `${content?.rows} rows, SHA-256 ${content?.sha256}`
  throw new Fault(
    copyDiffers,
    `${found.table} is not the same in both: ${inWords(sent)}, but ${inWords(found)} in --to; nothing was kept there`
  )
}
