// The cost of a new rule does not grow with the number of stored rules.
import t from 'tap'
import { Statements } from '../../../kernel/store/sqlite/statements.ts'
import { recordStatements } from '../../../test/support/record-statements.ts'
import { rule, rulesFixture } from './fixture.ts'

t.test('the checks of a new rule use indexes and read no other rules', async t => {
  const { server, enroll, connect, push, user } = await rulesFixture(t)
  await user('ann')
  await connect(await enroll())
  await push({ listen_port: 8000 })
  const selects = new Map<string, unknown[]>()
  const { run } = Statements.prototype
  t.teardown(() => {
    Statements.prototype.run = run
  })
  Statements.prototype.run = function (query, writes) {
    const values = query.values ?? []
    if (/^\s*select\b.*\brules\b/is.test(query.sql)) selects.set(query.sql, [...values])
    return run.call(this, query, writes)
  }

  t.equal((await push({ listen_port: 8001, owner: 'ann' })).status, 201)
  Statements.prototype.run = run

  const { store } = server.depsOf('rules')
  const plans = await store.read(async em => {
    const found: string[] = []
    for (const [sql, values] of selects) {
      const steps = await em.execute<{ detail: string }[]>(`explain query plan ${sql}`, values)
      found.push(...steps.map(({ detail }) => detail))
    }
    return found
  })
  const rulePlans = plans.filter(step => /\b(rules|own)\b/.test(step))
  t.ok(rulePlans.length > 4, rulePlans.join('\n'))
  t.same(
    rulePlans.filter(step => !/^SEARCH .* USING .*INDEX/.test(step)),
    []
  )
  const onClient = rulePlans.filter(step => /client_id=\?/.test(step))
  t.same(
    onClient.filter(
      step => !/rules_(range|moved)_index|client_id=\? AND listen_from>|COVERING INDEX/.test(step)
    ),
    [],
    'no search of all rules of the client reads more than an index'
  )
})

t.test('the number of rules of a user is counted from an index alone', async t => {
  const { server, call, enroll, push, user } = await rulesFixture(t)
  await user('ann')
  await enroll()
  await push({ owner: 'ann', if_offline: 'queue' })
  const asked = recordStatements(t)

  t.match(await call('PATCH', '/v1/users/ann', { display_name: 'Ann' }), { body: { rule_count: 1 } })

  const [count = ''] = asked.sql.filter(sql => /count.* from ["`]rules["`]/.test(sql))
  const plan = await server
    .depsOf('rules')
    .store.read(em => em.execute<{ detail: string }[]>(`explain query plan ${count}`, ['["ann"]']))
  t.match(
    plan.map(({ detail }) => detail).filter(step => /\bown\b/.test(step)),
    [/^SEARCH own USING COVERING INDEX rules_owner_parent_id_index \(owner=\? AND parent=\?\)/]
  )
})

t.test('a port is taken within a range, under an overlapping range, and during a move', async t => {
  const { call, enroll, connect, push } = await rulesFixture(t, {
    plugins: ['users', 'clients', 'rules', 'port-range']
  })
  const capabilities = { 'rule.range': '1.0.0', 'rule.update': '2.1.0' }
  const agent = await connect(await enroll(), { capabilities })
  const single = (await push({ listen_port: 8005 })).body
  const range = (await push({ listen_port: 9000, listen_port_end: 9010 })).body
  const holderOf = async (body: object) => {
    const { status, body: refusal } = await push(body)
    return [status, refusal.error?.details['rule_id']]
  }

  t.same(await holderOf({ listen_port: 8000, listen_port_end: 8005 }), [409, single.rule_id])
  t.same(await holderOf({ listen_port: 8005, listen_port_end: 8009 }), [409, single.rule_id])
  for (const port of [9000, 9004, 9010]) t.same(await holderOf({ listen_port: port }), [409, range.rule_id])
  t.same(await holderOf({ listen_port: 8990, listen_port_end: 9000 }), [409, range.rule_id])
  t.same(await holderOf({ listen_port: 9010, listen_port_end: 9020 }), [409, range.rule_id])
  t.same(await holderOf({ listen_port: 8990, listen_port_end: 9020 }), [409, range.rule_id])
  for (const port of [8004, 8006, 8999, 9011]) t.equal((await push({ listen_port: port })).status, 201)

  await agent.close()
  while ((await call<{ connected: boolean }[]>('GET', '/v1/clients')).body.some(one => one.connected))
    await new Promise(setImmediate)
  t.equal((await call('PATCH', `/v1/rules/${single.rule_id}`, { listen_port: 8100 })).status, 200)
  const queued = { if_offline: 'queue' }
  t.same(await holderOf({ listen_port: 8005, ...queued }), [409, single.rule_id], 'its agent may have it yet')
  t.same(await holderOf({ listen_port: 8100, ...queued }), [409, single.rule_id])
})

t.test('a port conflict with a rule of another owner does not show the id of that rule', async t => {
  const app = await rulesFixture(t, { plugins: ['users', 'clients', 'rules', 'grants'] })
  const ann = await app.user('ann')
  await app.enroll()
  const grant = { user_id: 'ann', client_id: '*', protocols: ['tcp'] }
  await app.call('POST', '/v1/grants', { ...grant, listen_port_start: 1, listen_port_end: 65_535 })
  const { body: other } = await app.push({ if_offline: 'queue' })

  const refused = await app.call('POST', '/v1/rules', { ...rule, if_offline: 'queue' }, ann)
  const ofRoot = await app.push({ if_offline: 'queue' })

  t.match(refused, { status: 409, body: { error: { code: 'port_in_use' } } })
  t.notMatch(refused.text, other.rule_id)
  t.match(ofRoot, { status: 409, body: { error: { details: { rule_id: other.rule_id } } } })
})
