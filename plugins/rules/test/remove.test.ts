import t from 'tap'
import { definePlugin, type Kernel } from '../../../kernel/plugin.ts'
import { afterCommit } from '../../../kernel/store/after-commit.ts'
import type { Act } from '../../http/exports.ts'
import { Rule } from '../entities.ts'
import { type Rules, removedSlot } from '../exports.ts'
import { RulePush, RuleRemove } from '../wire.ts'
import { type Deps, inOrder, inventoryRowOf, rule, rulesFixture, until } from './fixture.ts'

const draining = { state: 'draining', state_reason: null }

t.test('a removal answers when the port is closed, and the rule drains until it is removed', async t => {
  const app = await rulesFixture(t)
  const clientId = await app.enroll()
  const agent = await app.connect(clientId)
  const { rule_id: id } = (await app.push()).body

  const removed = await app.call('DELETE', `/v1/rules/${id}`)

  t.match(removed, { status: 204, body: undefined })
  t.match((await agent.until(RuleRemove.name)).body, { rule_id: id, revision: 2, removal: 'drain' })
  t.match(await app.get(id), draining)
  t.match((await app.call('GET', '/v1/rules')).body, [draining])
  t.match(app.decisions.at(-1), { action: 'rule.delete', resourceId: id, status: 204 })
  t.equal((await app.call('DELETE', `/v1/rules/${id}`)).status, 204, 'a second removal succeeds, too')
  t.equal((await app.push()).status, 201, 'its port is free')

  agent.sendRemoved({ kind: 'rule', id, revision: 2 })
  await until(
    () => app.call('GET', `/v1/rules/${id}`),
    ({ status }) => status === 404
  )
  t.ok(app.log.some(({ event, fields }) => event === 'rule.removed' && fields['rule'] === id))
  t.notOk((await app.objects(clientId)).some(row => row.id === id))
  t.match(await app.call('DELETE', `/v1/rules/${id}`), {
    status: 404,
    body: { error: { code: 'rule_not_found' } }
  })
})

t.test('a removal without an answer in time continues', async t => {
  const app = await rulesFixture(t)
  const late = Promise.withResolvers<void>()
  const agent = await app.connect(await app.enroll(), { react: inOrder('accept', late.promise) })
  const { rule_id: id } = (await app.push()).body
  const removing = app.call('DELETE', `/v1/rules/${id}?ack_timeout_secs=3`)
  await agent.until(RuleRemove.name)

  await app.clock.advance(3000)

  t.match(await removing, {
    status: 504,
    body: { error: { code: 'ack_timeout', details: { rule_id: id } } }
  })
  t.match(await app.get(id), draining)
  late.resolve()
  agent.sendRemoved({ kind: 'rule', id, revision: 2 })
  await until(
    () => app.call('GET', `/v1/rules/${id}`),
    ({ status }) => status === 404
  )
})

t.test(
  'a rule of a disconnected client is removed at once, and drained on the client at the reconnect',
  async t => {
    const app = await rulesFixture(t)
    const clientId = await app.enroll()
    const first = await app.connect(clientId)
    const { rule_id: id } = (await app.push()).body
    const inventory = [inventoryRowOf(await first.until(RulePush.name))]
    await first.close()
    await until(
      async () => app.server.control.peers.find(clientId),
      peer => peer === undefined
    )

    t.equal((await app.call('DELETE', `/v1/rules/${id}`)).status, 204)

    t.equal((await app.call('GET', `/v1/rules/${id}`)).status, 404)
    t.same(await app.objects(clientId), [{ id, revision: 2, removal: 'drain' }])
    const second = await app.connect(clientId, { inventory })
    t.match((await second.until(RuleRemove.name)).body, { rule_id: id, removal: 'drain' })
    second.sendRemoved({ kind: 'rule', id, revision: 2 })
    await until(
      () => app.objects(clientId),
      rows => rows.length === 0
    )
  }
)

t.test('a draining rule that the client no longer has at the reconnect is removed', async t => {
  const app = await rulesFixture(t)
  const clientId = await app.enroll()
  const first = await app.connect(clientId)
  const { rule_id: id } = (await app.push()).body
  await app.call('DELETE', `/v1/rules/${id}`)
  await first.close()

  await app.connect(clientId)

  await until(
    () => app.call('GET', `/v1/rules/${id}`),
    ({ status }) => status === 404
  )
  t.same(await app.objects(clientId), [])
})

t.test('a rule that failed at create is removed at once, because the client does not have it', async t => {
  const app = await rulesFixture(t)
  const agent = await app.connect(await app.enroll(), { react: inOrder({ refuse: 'port_in_use' }, 'accept') })
  const id = (await app.push()).body.error.details['rule_id']

  t.equal((await app.call('DELETE', `/v1/rules/${id}`)).status, 204)

  t.equal((await app.call('GET', `/v1/rules/${id}`)).status, 404)
  t.equal((await app.push()).status, 201)
  t.same(
    agent.received.filter(({ name }) => name === RuleRemove.name),
    []
  )
})

t.test('a rule that failed later is removed from the client', async t => {
  const app = await rulesFixture(t)
  const agent = await app.connect(await app.enroll())
  const { rule_id: id } = (await app.push()).body
  agent.sendStatus({ kind: 'rule', id, revision: 1, code: 'port_in_use', message: 'taken' })
  await until(
    () => app.get(id),
    ({ state }) => state === 'failed'
  )

  t.equal((await app.call('DELETE', `/v1/rules/${id}`)).status, 204)

  t.match((await agent.until(RuleRemove.name)).body, { rule_id: id })
})

t.test('a late answer to the push does not restore a removed rule', async t => {
  const app = await rulesFixture(t)
  const late = Promise.withResolvers<void>()
  const agent = await app.connect(await app.enroll(), { react: inOrder(late.promise, 'accept') })
  const making = app.push()
  const { body } = await agent.until(RulePush.name)
  const id = String(body['rule_id'])
  const removing = app.call('DELETE', `/v1/rules/${id}`)
  await until(
    () => app.get(id),
    ({ state }) => state === 'draining'
  )

  late.resolve()

  t.equal((await removing).status, 204)
  t.match(await app.get(id), draining)
  t.match(await making, { status: 404 })
})

t.test('a waiting create is answered at once when its rule is removed', async t => {
  const app = await rulesFixture(t)
  const agent = await app.connect(await app.enroll(), { react: () => 'never' })
  const making = app.push()
  const id = String((await agent.until(RulePush.name)).body['rule_id'])

  const removing = app.call('DELETE', `/v1/rules/${id}`)

  t.match(await making, {
    status: 404,
    body: { error: { code: 'rule_not_found', details: { rule_id: id } } }
  })
  t.match(
    app.decisions.find(({ action }) => action === 'rule.create'),
    { resourceId: id, status: 404, reason: 'rule_not_found' }
  )
  await app.clock.advance(5000)
  t.equal((await removing).status, 504)
})

t.test('a waiting create is answered after the client has closed a rule that a cascade removes', async t => {
  const app = await rulesFixture(t)
  const clientId = await app.enroll()
  const agent = await app.connect(clientId, { react: inOrder('never', 'accept') })
  const { rules, store, control } = app.server.depsOf('rules') as Deps
  const making = app.push()
  await agent.until(RulePush.name)

  await store.change(em => rules.removeAll({ clientId }, em, 'cut'))
  control.objects.wake(clientId)

  t.match(await making, { status: 404, body: { error: { code: 'rule_not_found' } } })
})

t.test('every removal of a rule calls the removal listeners first, in the same transaction', async t => {
  const removed: object[] = []
  let fails = false
  const listener = definePlugin({
    name: 'listener',
    version: '1.0.0',
    kernel: '^2.0.0',
    needs: { rules: '^1.0.0' },
    fills: [
      removedSlot.fill(async (rule, em) => {
        if (fails) throw new Error('not yet')
        const isStored = (await em.count(Rule, { id: rule.id })) === 1
        afterCommit(em, () => removed.push({ ...rule, isStored }))
      })
    ]
  })
  const app = await rulesFixture(t, { plugins: ['users', 'clients', 'rules', listener] })
  const clientId = await app.enroll()
  const agent = await app.connect(clientId)
  await app.user('ada')
  const ids: string[] = []
  for (const listen_port of [1, 2, 3, 4])
    ids.push((await app.push({ listen_port, owner: 'ada' })).body.rule_id)
  const [drained = '', cascaded = '', offline = '', ...rest] = ids
  const { rules, store } = app.server.depsOf('rules') as Deps
  const last = () => removed.at(-1)
  const removedRule = (id: string) => ({ id, clientId, owner: 'ada', isStored: true })

  await app.call('DELETE', `/v1/rules/${drained}`)
  t.equal(removed.length, 0, 'it drains')
  agent.sendRemoved({ kind: 'rule', id: drained, revision: 5 })
  await until(
    async () => removed.length,
    length => length === 1
  )
  t.strictSame(last(), removedRule(drained))
  fails = true
  await t.rejects(store.change(em => rules.removeAll({ id: cascaded }, em, 'cut')))
  t.match(await app.get(cascaded), { state: 'active' })
  fails = false
  await store.change(em => rules.removeAll({ id: cascaded }, em, 'cut'))
  t.strictSame(last(), removedRule(cascaded))
  await agent.close()
  await until(
    async () => app.server.control.peers.find(clientId),
    peer => peer === undefined
  )
  await app.call('DELETE', `/v1/rules/${offline}`)
  t.strictSame(last(), removedRule(offline))
  await app.call('POST', `/v1/clients/${clientId}/revoke`)
  await app.call('DELETE', `/v1/clients/${clientId}`)
  t.strictSame(removed.slice(3), rest.map(removedRule))
})

t.test('deleting a client removes its rules', async t => {
  const app = await rulesFixture(t)
  const clientId = await app.enroll()
  await app.connect(clientId)
  const { rule_id: id } = (await app.push()).body
  await app.call('POST', `/v1/clients/${clientId}/revoke`)

  t.equal((await app.get(id)).rule_id, id, 'a revoked client keeps its rules')
  t.equal((await app.call('DELETE', `/v1/clients/${clientId}`)).status, 204)

  t.same((await app.call('GET', '/v1/rules')).body, [])
  t.same(await app.objects(clientId), [])
})

t.test('a cascade cuts at once, in the same transaction as its cause', async t => {
  const app = await rulesFixture(t)
  const clientId = await app.enroll()
  const agent = await app.connect(clientId)
  await app.user('ada')
  const operatorRule = (await app.push()).body.rule_id
  const ruleOfAda = (await app.push({ listen_port: 1, owner: 'ada' })).body.rule_id
  const { rules, store } = app.server.depsOf('rules') as Deps

  const { ids, afterCommit } = await store.change(em => rules.removeAll({ owner: 'ada' }, em, 'cut'))
  afterCommit()

  t.same(ids, [ruleOfAda])
  t.match((await agent.until(RuleRemove.name)).body, { rule_id: ruleOfAda, removal: 'cut' })
  t.match((await app.call('GET', '/v1/rules')).body, [{ rule_id: operatorRule }])
  await until(
    () => app.objects(clientId),
    rows => rows.length === 1
  )
})

t.test('a plugin creates and removes rules without a request, as a user or as itself', async t => {
  const timer = definePlugin({
    name: 'timer',
    version: '1.0.0',
    kernel: '^2.0.0',
    needs: { http: '^1.0.0', rules: '^1.0.0' }
  })
  const app = await rulesFixture(t, { plugins: ['users', 'clients', 'rules', timer] })
  await app.connect(await app.enroll())
  for (const user of ['ann', 'bob']) await app.user(user)
  const { act, rules } = app.server.depsOf('timer') as Kernel & {
    readonly act: Act
    readonly rules: Rules
  }

  const { rule_id: id } = await act('_timer', 'timer.open', call =>
    rules.create({ ...rule, owner: 'ann', placed_by: 'ann' }, 5, call)
  )
  t.match(await app.get(id), { state: 'active', owner: 'ann', placed_by: 'ann' })
  t.match(app.decisions.at(-1), { action: 'timer.open', actor: '_timer', resourceId: id, status: 200 })

  await t.rejects(
    act('bob', 'timer.close', call => rules.remove(id, 5, call)),
    { message: /rule/ },
    'a rule of another owner'
  )
  t.match(await app.get(id), { state: 'active' })

  await act('_timer', 'timer.close', call => rules.remove(id, 5, call))
  t.match(await app.get(id), draining)
  t.match(app.decisions.at(-1), {
    action: 'timer.close',
    actor: '_timer',
    resourceId: id,
    reason: null
  })
})
