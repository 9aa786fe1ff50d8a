// What a request costs the store, in counts: a figure that grows is a finding, whatever the machine.
import SQLite from 'better-sqlite3'
import t from 'tap'
import { Statements } from '../../../kernel/store/sqlite/statements.ts'
import { rulesFixture } from '../../rules/test/fixture.ts'

t.test('a request runs few statements, prepares none anew, and a change syncs once', async t => {
  const { call, user, enroll, connect, push } = await rulesFixture(t)
  const ann = await user('ann')
  await connect(await enroll())
  for (let at = 0; at < 50; at++) await push({ listen_port: 8_000 + at })
  const [run, prepare] = [Statements.prototype.run, SQLite.prototype.prepare]
  t.teardown(() => {
    Statements.prototype.run = run
    SQLite.prototype.prepare = prepare
  })
  const sql: string[] = []
  const texts: string[] = []
  let prepared = 0
  Statements.prototype.run = function (query, writes) {
    sql.push(query.sql)
    return run.call(this, query, writes)
  }
  SQLite.prototype.prepare = function (this: SQLite.Database, text: string) {
    prepared++
    texts.push(text)
    return prepare.call(this, text)
  } as typeof prepare
  const costOf = async (request: () => Promise<unknown>) => {
    await request() // prepares, and stores when the token was used
    await request() // remembers who asks
    sql.length = 0
    prepared = 0
    await request()
    return { statements: sql.length, prepared, commits: sql.filter(text => text === 'commit').length }
  }
  let port = 9_000

  t.same(await costOf(() => call('GET', '/v1/users/me', undefined, ann)), {
    statements: 1,
    prepared: 0,
    commits: 0
  })
  t.same(await costOf(() => call('GET', '/v1/rules?limit=50')), { statements: 3, prepared: 0, commits: 0 })
  t.same(await costOf(() => call('GET', '/v1/users?limit=50')), { statements: 2, prepared: 0, commits: 0 })
  t.same(await costOf(() => call('PATCH', '/v1/users/ann', { display_name: 'Ann' })), {
    statements: 8,
    prepared: 0,
    commits: 1
  })
  const created = await costOf(() => push({ listen_port: port++ }))
  t.match(created, { prepared: 0, commits: 3 }) // the rule, the client's answer, the outcome of the entry
  t.ok(created.statements <= 30, `${created.statements} statements`)
  const limited = texts.filter(text => /\blimit\b/.test(text))
  t.ok(limited.length > 2, `${limited.length} statements with a limit`)
  t.same(
    limited.filter(text => /\blimit \?(?! \+ 0)/.test(text)),
    [],
    'SQLite would prepare them anew at each run'
  )
})
