// The store: damage, backups and leftover copies.
import { existsSync, readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { Fault } from '../../../kernel/base/errors.ts'
import { openStore } from '../../../kernel/store/open.ts'
import { stateOf } from '../../../kernel/store/postgres/dialect.ts'
import { type PostgresPlace, readPlace } from '../../../kernel/store/sql/database.ts'
import { brokenReferences, damageIn } from '../../../kernel/store/sqlite/dialect.ts'
import { defineCheck, type Finding } from '../../cli/check-exports.ts'
import { storePlace } from '../context.ts'
import { formatAge, plural } from '../finding-text.ts'

const largeLogBytes = 256 * 2 ** 20
const dayMs = 86_400_000
const backupEveryMs = 7 * dayMs

type FindingId = `store.${'damaged' | 'reference' | 'log' | 'unusable' | 'unsynced' | 'standby'}`

export const store = defineCheck<FindingId>({
  name: 'store',
  roles: ['server'],
  findings: {
    'store.damaged': {
      status: 'fail',
      when: 'SQLite detects damage in the store',
      remedy: 'stop the server, keep the directory, and restore the last backup: sluice restore FILE --help'
    },
    'store.reference': {
      status: 'fail',
      when: 'rows in the store refer to rows that do not exist',
      remedy: 'stop the server and restore the last backup: sluice restore FILE --help'
    },
    'store.log': {
      status: 'warn',
      when: 'the write-ahead log is larger than 256 MiB',
      remedy:
        'end programs that keep the store open for long, such as a sqlite3 shell: the log is emptied only when nobody reads'
    },
    'store.unusable': {
      status: 'fail',
      when: 'the database in store_url cannot be opened',
      remedy:
        'as the message says: start PostgreSQL, or correct store_url, the password or the privileges of the user'
    },
    'store.unsynced': {
      status: 'warn',
      when: 'fsync or full_page_writes of PostgreSQL is off: a power failure may damage the store',
      remedy:
        'run alter system reset for each setting in the message, or correct postgresql.conf; then select pg_reload_conf(). full_page_writes may be off on a filesystem that writes whole pages, such as ZFS'
    },
    'store.standby': {
      status: 'warn',
      when: 'PostgreSQL has standbys, but none is synchronous: a standby that takes over may lack the latest acknowledged changes',
      remedy:
        "run alter system set synchronous_standby_names = 'ANY 1 (*)' and select pg_reload_conf(); with two standbys, one may then be offline. Without a synchronous standby, treat a failover as a restore"
    }
  },
  async run({ dir, keys }) {
    const file = storePlace({ dir, keys })
    if (file === null) return [{ ok: 'the first start creates it' }]
    if (typeof file !== 'string') return checkPostgres(file)
    const log = statSync(`${file}-wal`, { throwIfNoEntry: false })?.size ?? 0 // before opening the store: closing may empty the log
    const found = await findDamage(file)
    if (log > largeLogBytes)
      found.push({ id: 'store.log', message: `${file}-wal has ${Math.floor(log / 2 ** 20)} MiB` })
    return found.length > 0 ? found : [{ ok: `${Math.ceil(statSync(file).size / 2 ** 20)} MiB, undamaged` }]
  }
})

/** Does not look for damage: this program cannot read the files of PostgreSQL. */
async function checkPostgres(place: PostgresPlace): Promise<Finding<FindingId>[]> {
  try {
    const opened = await openStore(place, [])
    const state = await opened.read(stateOf).finally(opened.close)
    const { version, bytes } = state
    const found = findRisks(state)
    if (found.length > 0) return found
    return [
      { ok: `PostgreSQL ${version}, ${Math.ceil(bytes / 2 ** 20)} MiB; run pg_amcheck to look for damage` }
    ]
  } catch (error) {
    if (!(error instanceof Fault)) throw error
    return [{ id: 'store.unusable', message: error.message }]
  }
}

/** Warns about settings that can lose data on a power failure or failover. Our sessions always set synchronous_commit. */
function findRisks({
  off,
  standbys,
  synchronous
}: Awaited<ReturnType<typeof stateOf>>): Finding<FindingId>[] {
  const found: Finding<FindingId>[] = []
  if (off !== null) found.push({ id: 'store.unsynced', message: `PostgreSQL has ${off} off` })
  if (standbys > 0 && synchronous === '') {
    const message = `${plural(standbys, 'standby follows', 'standbys follow')}, and synchronous_standby_names is empty`
    found.push({ id: 'store.standby', message })
  }
  return found
}

async function findDamage(file: string): Promise<Finding<FindingId>[]> {
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
  roles: ['server'],
  findings: {
    'backup.none': {
      status: 'warn',
      when: 'the server is older than a week, and sluice backup never ran',
      remedy: 'run sluice backup DIRECTORY every day with a timer, and keep the files on another host'
    },
    'backup.old': {
      status: 'warn',
      when: 'the last sluice backup is older than a week',
      remedy: 'run sluice backup DIRECTORY every day with a timer, and keep the files on another host'
    }
  },
  async run({ dir, keys, now, query }) {
    if (typeof readPlace(keys, dir) !== 'string')
      return [
        {
          ok: 'the store is in PostgreSQL: use pg_dump or WAL archiving, and also save store.key'
        }
      ]
    const record = join(dir, 'last-backup') // the plugin backup writes the time there, RFC 3339
    const last = existsSync(record) ? Date.parse(readFileSync(record, 'utf8').trim()) : null
    const [row] = await query<{ first: number | null }>(
      'kernel_client',
      'select min(enrolled_at) as first from kernel_client'
    )
    const first = row?.first ?? now
    if (last === null && first < now - backupEveryMs)
      return [
        {
          id: 'backup.none',
          message: `there have been clients for ${formatAge(now - first)}, but there is no backup`
        }
      ]
    if (last === null) return [{ ok: 'no backup yet' }]
    const age = formatAge(now - last)
    return last < now - backupEveryMs
      ? [{ id: 'backup.old', message: `the last backup is ${age} old` }]
      : [{ ok: `the last one is ${age} old` }]
  }
})

export const copies = defineCheck({
  name: 'copies',
  roles: ['server'],
  findings: {
    'copies.old': {
      status: 'warn',
      when: 'a copy of the store from before a migration is older than 90 days: it still has data that was deleted since',
      remedy: 'delete it when you no longer need to return to the earlier version'
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
