// The copy of the store before a migration, with the real program.
import { globSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { basename, join } from 'node:path'
import Database from 'better-sqlite3'
import t, { type Test } from 'tap'
import { privateDir } from '../../../test/support/private-dir.ts'
import { start } from '../../../test/support/process.ts'
import { copyStore } from '../server/copy-store.ts'

t.test('a start that migrates the store copies it first; other starts make no copy', async t => {
  const dir = privateDir(t)
  await startAndStop(t, dir, 'quota')
  await startAndStop(t, dir, 'quota')
  t.same(copiesIn(dir), [])

  const log = await startAndStop(t, dir)
  const [copy = ''] = copiesIn(dir)
  t.match(log, new RegExp(`"event":"store.copied".*"file":"${copy}"`))
  t.equal(statSync(copy).mode & 0o777, 0o600)
  const before = tablesIn(copy)
  const after = tablesIn(join(dir, 'sluice.db'))
  t.ok(after.includes('quota') && !before.includes('quota'), `${before} ... ${after}`)
  t.ok(before.includes('rules'))

  await startAndStop(t, dir)
  t.equal(copiesIn(dir).length, 1)
})

t.test('only the two newest copies stay', async t => {
  const dir = privateDir(t)
  const file = join(dir, 'sluice.db')
  const old = [1, 2, 3].map(day => `${file}.before-2026010${day}T000000Z`)
  for (const name of old) writeFileSync(name, '')

  const copy = await copyStore(file, async draft => writeFileSync(draft, 'a copy'))
  t.same(copiesIn(dir), [old[2], copy])
  t.equal(readFileSync(copy, 'utf8'), 'a copy')
})

t.test('a new copy survives a clock that was set back, and an unfinished copy is removed', async t => {
  const dir = privateDir(t)
  const file = join(dir, 'sluice.db')
  const ahead = ['20990101', '20990102'].map(day => `${file}.before-${day}T000000Z`)
  for (const name of [...ahead, `${file}.before-20260101T000000Z.tmp`]) writeFileSync(name, '')

  const copy = await copyStore(file, async draft => writeFileSync(draft, 'a copy'))
  t.same(readdirSync(dir).sort(), [copy, ahead[1]].map(name => basename(String(name))).sort())
})

t.test('a store that cannot be copied is not migrated, and the error says what to do', async t => {
  const full = () => Promise.reject(new Error('database or disk is full'))
  await t.rejects(copyStore(join(privateDir(t), 'sluice.db'), full), {
    errorCode: { code: 'store_unavailable' },
    message: /^the store cannot be copied before its migration: database or disk is full; free space in \//
  })
})

const copiesIn = (dir: string): string[] => globSync(join(dir, 'sluice.db.before-*Z')).sort()

function tablesIn(file: string): string[] {
  const db = new Database(file, { readonly: true })
  const rows = db.prepare("select name from sqlite_master where type = 'table'").pluck().all()
  db.close()
  return rows.map(String)
}

/** Starts and stops a server without the plugin `disabled`. Returns its log. */
async function startAndStop(t: Test, dir: string, disabled?: string): Promise<string> {
  const config = join(dir, 'server.toml')
  writeFileSync(config, disabled === undefined ? '' : `[plugins.${disabled}]\nenabled = false\n`)
  const server = start(t, ['server', '--data-dir', dir, '--config', config], {
    SVC_OPERATOR_HTTP_LISTEN: '127.0.0.1:0',
    SVC_CONTROL_LISTEN: '127.0.0.1:0',
    SVC_METRICS_LISTEN: '127.0.0.1:0'
  })
  await server.until('server.started')
  server.signal('SIGTERM')
  t.equal(await server.exit, 0)
  return server.output()
}
