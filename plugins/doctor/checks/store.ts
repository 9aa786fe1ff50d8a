// The store: whole, of a schema that this program knows, and saved elsewhere.
import { existsSync, readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { Fault } from '../../../kernel/base/errors.ts'
import { openStore } from '../../../kernel/store/open.ts'
import { stateOf } from '../../../kernel/store/postgres/dialect.ts'
import { type PostgresPlace, placeOf } from '../../../kernel/store/sql/database.ts'
import { brokenReferences, damageIn } from '../../../kernel/store/sqlite/dialect.ts'
import { storeOf } from '../context.ts'
import { defineCheck, type Finding } from '../exports.ts'
import { ageOf, plural } from '../words.ts'

const largeLogBytes = 256 * 2 ** 20
const dayMs = 86_400_000
const backupEveryMs = 7 * dayMs

type Id = `store.${'damaged' | 'reference' | 'log' | 'unusable' | 'unsynced' | 'standby'}`

export const store = defineCheck<Id>({
  name: 'store',
  of: ['server'],
  findings: {
    'store.damaged': {
      status: 'fail',
      when: 'SQLite finds damage in the store',
      remedy: 'stop the server, keep the directory, and restore the last backup: sluice restore FILE --help'
    },
    'store.reference': {
      status: 'fail',
      when: 'rows of the store refer to rows that do not exist',
      remedy: 'stop the server and restore the last backup: sluice restore FILE --help'
    },
    'store.log': {
      status: 'warn',
      when: 'the write-ahead log has more than 256 MiB',
      remedy:
        'end the programs that keep the store open for long, such as a shell of sqlite3: the log is emptied when nobody reads'
    },
    'store.unusable': {
      status: 'fail',
      when: 'the database of store_url cannot be opened',
      remedy:
        'the message has it: start PostgreSQL, or correct store_url, the password or the rights of the user'
    },
    'store.unsynced': {
      status: 'warn',
      when: 'fsync or full_page_writes of PostgreSQL is off: a power failure may damage the store',
      remedy:
        'alter system reset what the message names, or correct it in postgresql.conf, and select pg_reload_conf(); full_page_writes may be off where the filesystem writes whole pages, as ZFS does'
    },
    'store.standby': {
      status: 'warn',
      when: 'standbys follow PostgreSQL, and none is synchronous: one that takes over may lack what was acknowledged last',
      remedy:
        "alter system set synchronous_standby_names = 'ANY 1 (*)', and select pg_reload_conf(): with two standbys one may be away; else a failover counts as a restore"
    }
  },
  async run({ dir, keys }) {
    const file = storeOf({ dir, keys })
    if (file === null) return [{ ok: 'the first start creates it' }]
    if (typeof file !== 'string') return examineDatabase(file)
    const log = statSync(`${file}-wal`, { throwIfNoEntry: false })?.size ?? 0 // before it is opened: closing may empty it
    const found = await damageOf(file)
    if (log > largeLogBytes)
      found.push({ id: 'store.log', message: `${file}-wal has ${Math.floor(log / 2 ** 20)} MiB` })
    return found.length > 0 ? found : [{ ok: `${Math.ceil(statSync(file).size / 2 ** 20)} MiB, whole` }]
  }
})

/** Damage is for PostgreSQL to find: the program has no right to read its files. */
async function examineDatabase(place: PostgresPlace): Promise<Finding<Id>[]> {
  try {
    const opened = await openStore(place, [])
    const state = await opened.read(stateOf).finally(opened.close)
    const { version, bytes } = state
    const found = lossesIn(state)
    if (found.length > 0) return found
    return [{ ok: `PostgreSQL ${version}, ${Math.ceil(bytes / 2 ** 20)} MiB; pg_amcheck looks for damage` }]
  } catch (error) {
    if (!(error instanceof Fault)) throw error
    return [{ id: 'store.unusable', message: error.message }]
  }
}

/** Warns about settings that can lose data on a power failure or failover. Our sessions always set synchronous_commit. */
function lossesIn({ off, standbys, synchronous }: Awaited<ReturnType<typeof stateOf>>): Finding<Id>[] {
  const found: Finding<Id>[] = []
  if (off !== null) found.push({ id: 'store.unsynced', message: `${off} of PostgreSQL: off` })
  if (standbys > 0 && synchronous === '') {
    const message = `${plural(standbys, 'standby follows', 'standbys follow')}, and synchronous_standby_names is empty`
    found.push({ id: 'store.standby', message })
  }
  return found
}

async function damageOf(file: string): Promise<Finding<Id>[]> {
  const opened = await openStore(file, []) // without plugins: no migration runs
  try {
    const { damage, broken } = await opened.read(async em => ({
      damage: await damageIn(em, 'quick'),
      broken: (await brokenReferences(em)).slice(0, 1)
    }))
    return [
      ...damage.map(text => ({ id: 'store.damaged' as const, message: `${file}: ${text}` })),
      ...broken.map(table => ({ id: 'store.reference' as const, message: `${file}: in the table ${table}` }))
    ]
  } finally {
    await opened.close()
  }
}

export const backup = defineCheck({
  name: 'backup',
  of: ['server'],
  findings: {
    'backup.none': {
      status: 'warn',
      when: 'the server is older than a week and was never saved with sluice backup',
      remedy: 'run sluice backup DIRECTORY every day, by a timer, and keep the files on another host'
    },
    'backup.old': {
      status: 'warn',
      when: 'the last sluice backup is older than a week',
      remedy: 'run sluice backup DIRECTORY every day, by a timer, and keep the files on another host'
    }
  },
  async run({ dir, keys, now, query }) {
    if (typeof placeOf(keys, dir) !== 'string')
      return [
        {
          ok: 'the store is in PostgreSQL, which saves it: pg_dump, or an archive of its log; save store.key beside it'
        }
      ]
    const record = join(dir, 'last-backup') // which the plugin backup writes: the time, RFC 3339
    const last = existsSync(record) ? Date.parse(readFileSync(record, 'utf8').trim()) : null
    const [row] = await query<{ first: number | null }>(
      'kernel_client',
      'select min(enrolled_at) as first from kernel_client'
    )
    const first = row?.first ?? now
    if (last === null && first < now - backupEveryMs)
      return [{ id: 'backup.none', message: `there are clients since ${ageOf(now - first)}, and no backup` }]
    if (last === null) return [{ ok: 'none was made yet' }]
    const age = ageOf(now - last)
    return last < now - backupEveryMs
      ? [{ id: 'backup.old', message: `the last backup is ${age} old` }]
      : [{ ok: `the last one is ${age} old` }]
  }
})

export const copies = defineCheck({
  name: 'copies',
  of: ['server'],
  findings: {
    'copies.old': {
      status: 'warn',
      when: 'a copy of the store that a migration left is older than 90 days: it holds what was deleted since',
      remedy: 'delete it when you need no way back to the earlier version'
    }
  },
  async run({ dir, now }) {
    const { readdir } = await import('node:fs/promises')
    const names = existsSync(dir) ? await readdir(dir) : []
    const copies = names.filter(name => /^sluice\.db\.before-.*Z$/.test(name))
    const old = copies.filter(name => statSync(join(dir, name)).mtimeMs < now - 90 * dayMs)
    if (old.length === 0) return [{ ok: plural(copies.length, 'copy', 'copies') }]
    return old.map(name => ({ id: 'copies.old' as const, message: join(dir, name) }))
  }
})
