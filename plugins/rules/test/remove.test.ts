import t from 'tap'
import { definePlugin } from '../../../kernel/plugin.ts'
import { Rule } from '../entities.ts'
import { removedSlot } from '../exports.ts'
import { RulePush, RuleRemove } from '../wire.ts'
import { type Deps, inOrder, inventoryRowOf, rulesFixture, until } from './fixture.ts'

const draining = { state: 'draining', state_reason: null }

t.test('a removal answers when the port is closed, and the rule drains until it is removed', async t => {
  const on = await rulesFixture(t)
  const clientId = await on.enroll()
  const agent = await on.connect(clientId)
  const { rule_id: id } = (await on.push()).body

  const removed = await on.call('DELETE', `/v1/rules/${id}`)

  t.match(removed, { status: 204, body: undefined })
  t.match((await agent.until(RuleRemove.name)).body, { rule_id: id, revision: 2, removal: 'drain' })
  t.match(await on.get(id), draining)
  t.match((await on.call('GET', '/v1/rules')).body, [draining])
  t.match(on.decisions.at(-1), { action: 'rule.delete', resourceId: id, status: 204 })
  t.equal((await on.call('DELETE', `/v1/rules/${id}`)).status, 204, 'a second one is as good')
  t.equal((await on.push()).status, 201, 'its port is free')

  agent.sendRemoved({ kind: 'rule', id, revision: 2 })
  await until(
    () => on.call('GET', `/v1/rules/${id}`),
    ({ status }) => status === 404
  )
  t.ok(on.log.some(({ event, fields }) => event === 'rule.removed' && fields['rule'] === id))
  t.notOk((await on.held(clientId)).some(row => row.id === id))
  t.match(await on.call('DELETE', `/v1/rules/${id}`), {
    status: 404,
    body: { error: { code: 'rule_not_found' } }
  })
})

t.test('a removal that is not answered in time goes on by itself', async t => {
  const on = await rulesFixture(t)
  const late = Promise.withResolvers<void>()
  const agent = await on.connect(await on.enroll(), { react: inOrder('take', late.promise) })
  const { rule_id: id } = (await on.push()).body
  const removing = on.call('DELETE', `/v1/rules/${id}?ack_timeout_secs=3`)
  await agent.until(RuleRemove.name)

  await on.clock.advance(3000)

  t.match(await removing, {
    status: 504,
    body: { error: { code: 'ack_timeout', details: { rule_id: id } } }
  })
  t.match(await on.get(id), draining)
  late.resolve()
  agent.sendRemoved({ kind: 'rule', id, revision: 2 })
  await until(
    () => on.call('GET', `/v1/rules/${id}`),
    ({ status }) => status === 404
  )
})

t.test(
  'a rule of a disconnected client is removed at once, and drained on the client at the reconnect',
  async t => {
    const on = await rulesFixture(t)
    const clientId = await on.enroll()
    const first = await on.connect(clientId)
    const { rule_id: id } = (await on.push()).body
    const inventory = [inventoryRowOf(await first.until(RulePush.name))]
    await first.close()
    await until(
      async () => on.server.control.peers.find(clientId),
      peer => peer === undefined
    )

    t.equal((await on.call('DELETE', `/v1/rules/${id}`)).status, 204)

    t.equal((await on.call('GET', `/v1/rules/${id}`)).status, 404)
    t.same(await on.held(clientId), [{ id, revision: 2, removal: 'drain' }])
    const second = await on.connect(clientId, { inventory })
    t.match((await second.until(RuleRemove.name)).body, { rule_id: id, removal: 'drain' })
    second.sendRemoved({ kind: 'rule', id, revision: 2 })
    await until(
      () => on.held(clientId),
      rows => rows.length === 0
    )
  }
)

t.test('a draining rule that the client no longer has at the reconnect is removed', async t => {
  const on = await rulesFixture(t)
  const clientId = await on.enroll()
  const first = await on.connect(clientId)
  const { rule_id: id } = (await on.push()).body
  await on.call('DELETE', `/v1/rules/${id}`)
  await first.close()

  await on.connect(clientId)

  await until(
    () => on.call('GET', `/v1/rules/${id}`),
    ({ status }) => status === 404
  )
  t.same(await on.held(clientId), [])
})

t.test('a rule that failed at create is removed at once: the client does not have it', async t => {
  const on = await rulesFixture(t)
  const agent = await on.connect(await on.enroll(), { react: inOrder({ refuse: 'port_in_use' }, 'take') })
  const id = (await on.push()).body.error.details['rule_id']

  t.equal((await on.call('DELETE', `/v1/rules/${id}`)).status, 204)

  t.equal((await on.call('GET', `/v1/rules/${id}`)).status, 404)
  t.equal((await on.push()).status, 201)
  t.same(
    agent.received.filter(({ name }) => name === RuleRemove.name),
    []
  )
})

t.test('a rule that failed later is removed from the client', async t => {
  const on = await rulesFixture(t)
  const agent = await on.connect(await on.enroll())
  const { rule_id: id } = (await on.push()).body
  agent.sendStatus({ kind: 'rule', id, revision: 1, code: 'port_in_use', message: 'taken' })
  await until(
    () => on.get(id),
    ({ state }) => state === 'failed'
  )

  t.equal((await on.call('DELETE', `/v1/rules/${id}`)).status, 204)

  t.match((await agent.until(RuleRemove.name)).body, { rule_id: id })
})

t.test('a late answer to the push does not restore a removed rule', async t => {
  const on = await rulesFixture(t)
  const late = Promise.withResolvers<void>()
  const agent = await on.connect(await on.enroll(), { react: inOrder(late.promise, 'take') })
  const making = on.push()
  const { body } = await agent.until(RulePush.name)
  const id = String(body['rule_id'])
  const removing = on.call('DELETE', `/v1/rules/${id}`)
  await until(
    () => on.get(id),
    ({ state }) => state === 'draining'
  )

  late.resolve()

  t.equal((await removing).status, 204)
  t.match(await on.get(id), draining)
  t.match(await making, { status: 404 })
})

t.test('a create whose rule is removed while it waits is answered at once', async t => {
  const on = await rulesFixture(t)
  const agent = await on.connect(await on.enroll(), { react: () => 'never' })
  const making = on.push()
  const id = String((await agent.until(RulePush.name)).body['rule_id'])

  const removing = on.call('DELETE', `/v1/rules/${id}`)

  t.match(await making, {
    status: 404,
    body: { error: { code: 'rule_not_found', details: { rule_id: id } } }
  })
  t.match(
    on.decisions.find(({ action }) => action === 'rule.create'),
    { resourceId: id, status: 404, reason: 'rule_not_found' }
  )
  await on.clock.advance(5000)
  t.equal((await removing).status, 504)
})

t.test('a create whose rule is removed with its owner is answered when the client has closed it', async t => {
  const on = await rulesFixture(t)
  const clientId = await on.enroll()
  const agent = await on.connect(clientId, { react: inOrder('never', 'take') })
  const { rules, store, control } = on.server.depsOf('rules') as Deps
  const making = on.push()
  await agent.until(RulePush.name)

  await store.change(em => rules.removeAll({ clientId }, em, 'cut'))
  control.objects.wake(clientId)

  t.match(await making, { status: 404, body: { error: { code: 'rule_not_found' } } })
})

t.test('every removal of a rule calls the removal listeners first, in the same transaction', async t => {
  const left: object[] = []
  let isBroken = false
  const leaving = definePlugin({
    name: 'leaving',
    version: '1.0.0',
    kernel: '^1.0.0',
    needs: { rules: '^1.0.0' },
    fills: [
      removedSlot.fill(async (rule, em) => {
        if (isBroken) throw new Error('not yet')
        left.push({ ...rule, isStored: (await em.count(Rule, { id: rule.id })) === 1 })
      })
    ]
  })
  const on = await rulesFixture(t, { plugins: ['users', 'clients', 'rules', leaving] })
  const clientId = await on.enroll()
  const agent = await on.connect(clientId)
  await on.user('ada')
  const ids: string[] = []
  for (const listen_port of [1, 2, 3, 4])
    ids.push((await on.push({ listen_port, owner: 'ada' })).body.rule_id)
  const [drained = '', cascaded = '', away = '', ...rest] = ids
  const { rules, store } = on.server.depsOf('rules') as Deps
  const last = () => left.at(-1)
  const removedRule = (id: string) => ({ id, clientId, owner: 'ada', isStored: true })

  await on.call('DELETE', `/v1/rules/${drained}`)
  t.equal(left.length, 0, 'it drains')
  agent.sendRemoved({ kind: 'rule', id: drained, revision: 5 })
  await until(
    async () => left.length,
    length => length === 1
  )
  t.strictSame(last(), removedRule(drained))
  isBroken = true
  await t.rejects(store.change(em => rules.removeAll({ id: cascaded }, em, 'cut')))
  t.match(await on.get(cascaded), { state: 'active' })
  isBroken = false
  await store.change(em => rules.removeAll({ id: cascaded }, em, 'cut'))
  t.strictSame(last(), removedRule(cascaded))
  await agent.close()
  await until(
    async () => on.server.control.peers.find(clientId),
    peer => peer === undefined
  )
  await on.call('DELETE', `/v1/rules/${away}`)
  t.strictSame(last(), removedRule(away))
  await on.call('POST', `/v1/clients/${clientId}/revoke`)
  await on.call('DELETE', `/v1/clients/${clientId}`)
  t.strictSame(left.slice(3), rest.map(removedRule))
})

t.test('deleting a client removes its rules', async t => {
  const on = await rulesFixture(t)
  const clientId = await on.enroll()
  await on.connect(clientId)
  const { rule_id: id } = (await on.push()).body
  await on.call('POST', `/v1/clients/${clientId}/revoke`)

  t.equal((await on.get(id)).rule_id, id, 'a revoked one keeps them')
  t.equal((await on.call('DELETE', `/v1/clients/${clientId}`)).status, 204)

  t.same((await on.call('GET', '/v1/rules')).body, [])
  t.same(await on.held(clientId), [])
})

t.test('a cascade cuts at once, in the same transaction as its cause', async t => {
  const on = await rulesFixture(t)
  const clientId = await on.enroll()
  const agent = await on.connect(clientId)
  await on.user('ada')
  const operatorRule = (await on.push()).body.rule_id
  const ofAda = (await on.push({ listen_port: 1, owner: 'ada' })).body.rule_id
  const { rules, store } = on.server.depsOf('rules') as Deps

  const { ids, afterCommit } = await store.change(em => rules.removeAll({ owner: 'ada' }, em, 'cut'))
  afterCommit()

  t.same(ids, [ofAda])
  t.match((await agent.until(RuleRemove.name)).body, { rule_id: ofAda, removal: 'cut' })
  t.match((await on.call('GET', '/v1/rules')).body, [{ rule_id: operatorRule }])
  await until(
    () => on.held(clientId),
    rows => rows.length === 1
  )
})
