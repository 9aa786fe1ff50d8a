// Counts the statements of requests. Counts do not depend on the machine, so any growth is a regression.
import t from 'tap'
import { plugins as builtin } from '../../../config/plugins.ts'
import { recordStatements } from '../../../test/support/record-statements.ts'
import { notRepeated } from '../../../test/support/store.ts'
import { Rule } from '../../rules/entities.ts'
import { rulesFixture } from '../../rules/test/fixture.ts'

t.test(
  'a request runs few prepared statements, and a change syncs once',
  { skip: notRepeated('it counts statements') },
  async t => {
    const { call, user, enroll, connect, push } = await rulesFixture(t)
    const ann = await user('ann')
    await connect(await enroll())
    for (let at = 0; at < 50; at++) await push({ listen_port: 8_000 + at })
    const asked = recordStatements(t)
    const costOf = async (request: () => Promise<unknown>) => {
      await request() // prepares, and stores when the token was used
      await request() // remembers who asks
      asked.reset()
      await request()
      const { sql, prepared } = asked
      return { statements: sql.length, prepared, commits: sql.filter(text => text === 'commit').length }
    }
    let port = 9_000

    t.same(await costOf(() => call('GET', '/v1/users/me', undefined, ann)), {
      statements: 0,
      prepared: 0,
      commits: 0
    })
    t.same(await costOf(() => call('GET', '/v1/rules?limit=50')), { statements: 2, prepared: 0, commits: 0 })
    t.same(await costOf(() => call('GET', '/v1/users?limit=50')), { statements: 1, prepared: 0, commits: 0 })
    t.same(await costOf(() => call('PATCH', '/v1/users/ann', { display_name: 'Ann' })), {
      statements: 6,
      prepared: 0,
      commits: 1
    })
    await push({ listen_port: port++ })
    asked.reset()
    await call('GET', '/v1/users?limit=50')
    t.equal(
      asked.sql.length,
      2,
      'the rules of all its users are counted at once, and not before one has changed'
    )
    const created = await costOf(() => push({ listen_port: port++ }))
    t.match(created, { prepared: 0, commits: 3 }) // the rule, the client's answer, the outcome of the entry
    t.ok(created.statements <= 30, `${created.statements} statements`)
    const limited = asked.texts.filter(text => /\blimit\b/.test(text))
    t.ok(limited.length > 2, `${limited.length} statements with a limit`)
    t.same(
      limited.filter(text => /\blimit \?(?! \+ 0)/.test(text)),
      [],
      'SQLite would prepare them again at each run'
    )
  }
)

t.test('a page of rules asks the store as often for 50 rules as for one, whatever plugins add', async t => {
  const { call, enroll, push, server } = await rulesFixture(t, { plugins: Object.keys(builtin) })
  await enroll()
  const queued = (listen_port: number) =>
    push({ listen_port, if_offline: 'queue', labels: { env: 'prod' }, expires_at: '2030-01-01T00:00:00Z' })
  const asked = recordStatements(t)
  const pageOf = async () => {
    const { store } = server.depsOf('rules')
    await store.change(em => em.nativeUpdate(Rule, {}, { state: 'active' }))
    await call('GET', '/v1/rules?limit=50') // prepares
    asked.reset()
    const { body } = await call<unknown[]>('GET', '/v1/rules?limit=50')
    return { rules: body.length, statements: asked.sql.length, prepared: asked.prepared }
  }

  await queued(8_000)
  t.same(await pageOf(), { rules: 1, statements: 6, prepared: 0 })
  for (let at = 1; at < 50; at++) await queued(8_000 + at)
  t.same(await pageOf(), { rules: 50, statements: 6, prepared: 0 })
  const page = asked.sql.find(text => text.includes('from "rules" as own'))
  const { store } = server.depsOf('rules')
  const plan = await store.read(em => em.execute<object[]>(`explain query plan ${page}`, ['', 50, 0]))
  t.notMatch(JSON.stringify(plan), /TEMP B-TREE/, 'a page is read in order, and no other rule is')
})

t.test('a page of rules reads those of its page alone, whoever owns the others', async t => {
  const { call, user, enroll, push, server } = await rulesFixture(t, { plugins: Object.keys(builtin) })
  await user('ann')
  const client = await enroll()
  await push({ listen_port: 8_000, if_offline: 'queue', owner: 'ann' })
  const asked = recordStatements(t)
  const planOf = async (query: string) => {
    asked.reset()
    await call('GET', `/v1/rules?limit=50${query}`)
    const page =
      asked.sql.find(text => text.includes('from "rules" as own') && text.includes('limit ?')) ?? ''
    const { store } = server.depsOf('rules')
    const params = Array.from(page.matchAll(/\?/g), () => '[]')
    return JSON.stringify(await store.read(em => em.execute<object[]>(`explain query plan ${page}`, params)))
  }

  t.match(await planOf('&owner=ann'), /\(owner=\? AND parent=\? AND id>\?\)/)
  const clientPlan = await planOf(`&owner=ann&client=${client}`)
  t.match(clientPlan, /\(client_id=\?\)/)
  t.notMatch(clientPlan, /owner=\?/)
  t.match(await planOf(`&client=${client}`), /\(client_id=\?\)/)
})
