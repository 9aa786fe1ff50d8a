// Objects that a plugin derives from rules for other clients: their order, refusals, absences and ends.
import t, { type Test } from 'tap'
import { Type } from 'typebox'
import { objectMessages } from '../../../agent/wire/derived-object.ts'
import { fieldMessage } from '../../../agent/wire/rule-field.ts'
import { Client } from '../../../kernel/identity/entities.ts'
import { definePlugin, type Kernel, type Plugin } from '../../../kernel/plugin.ts'
import { type Script, scriptedResponse } from '../../../kit/scripted-agent.ts'
import { recordStatements } from '../../../test/support/record-statements.ts'
import { notOnPostgres, notRepeated } from '../../../test/support/store.ts'
import { derivedObject, fieldValues, type Rules, ruleField } from '../exports.ts'
import { messages, RulePush, RuleRemove, updateCapability } from '../wire.ts'
import {
  type Deps,
  inOrder,
  inventoryRowOf,
  type RulesFixture,
  ruleResponses,
  rulesFixture,
  until
} from './fixture.ts'

const capability = { id: 'rule.helper', since: '1.0.0' }
const helper = {
  key: 'helper',
  capability,
  body: Type.String({ maxLength: 26, description: 'A client that helps with the rule.' })
}
const help = {
  kind: 'help',
  capability,
  body: Type.Object({
    owner: Type.String({ maxLength: 32 }),
    port: Type.Integer({ minimum: 1, maximum: 65_535 })
  })
}
const { push: HelpPush, remove: HelpRemove } = objectMessages(help)

const helpers = (until: 'closed' | 'drained'): Plugin =>
  definePlugin<Kernel & { readonly rules: Rules }>({
    name: 'helpers',
    version: '1.0.0',
    kernel: '^2.0.0',
    needs: { rules: '^1.0.0' },
    fills: [
      ruleField({ ...helper, change: 'frozen' }),
      ...derivedObject({
        ...help,
        field: helper.key,
        until,
        async derive(rules, em) {
          const ids = rules.map(({ id }) => id)
          const clients = await fieldValues(helper, em, ids)
          return new Map(
            rules.map(({ id, owner, listenFrom }) => {
              const clientId = clients.get(id)
              return [id, clientId === undefined ? [] : [{ clientId, body: { owner, port: listenFrom } }]]
            })
          )
        }
      })
    ]
  })

const plugins = ['users', 'clients', 'rules', helpers('drained')]

const script: Partial<Script> = {
  capabilities: { [capability.id]: capability.since, [updateCapability.id]: updateCapability.since },
  messages: [...messages, fieldMessage(helper), HelpPush, HelpRemove, HelpPush.response],
  responses: [
    ...ruleResponses,
    scriptedResponse(HelpPush, ({ id, revision }) => ({ id, revision })),
    scriptedResponse(HelpRemove, ({ id, revision }) => ({ id, revision }))
  ]
}

const names = ({ received }: { readonly received: readonly { readonly name: string }[] }): string[] =>
  received
    .map(({ name }) => name)
    .filter(name => [RulePush, RuleRemove, HelpPush, HelpRemove].some(one => one.name === name))

/** Two clients without agents. */
async function open(t: Test, of: readonly (string | Plugin)[] = plugins) {
  const app = await rulesFixture(t, { plugins: of })
  const edgeId = await app.enroll('edge')
  const helperId = await app.enroll('helper')
  return { app, edgeId, helperId }
}

const stateOf = (app: RulesFixture, id: string, state: string) =>
  until(
    () => app.get(id),
    rule => rule.state === state
  )

t.test('a rule reaches its client only after the other client has acknowledged its object', async t => {
  const { app, edgeId, helperId } = await open(t)
  const edge = await app.connect(edgeId, script)
  const { promise: answered, resolve: answer } = Promise.withResolvers<void>()
  const other = await app.connect(helperId, { ...script, react: () => answered })

  const made = app.push({ helper: helperId })
  const sent = await other.until(HelpPush.name)
  t.match(sent.body, { body: { owner: '_operator', port: 8080 } })
  const { rule_id: id } = (await app.call<{ rule_id: string }[]>('GET', '/v1/rules')).body[0] ?? {
    rule_id: ''
  }
  t.match(await app.get(id), { state: 'pending' })
  t.same(names(edge), [])
  answer()

  t.match(await made, { status: 201, body: { state: 'active' } })
  t.same(names(edge), [RulePush.name])
})

t.test('an offline client is refused, or the rule waits for it', async t => {
  const { app, edgeId, helperId } = await open(t)
  const edge = await app.connect(edgeId, script)

  t.match(await app.push({ helper: helperId }), {
    status: 422,
    body: { error: { code: 'client_not_connected', details: { field: 'helper', client_id: helperId } } }
  })
  t.same((await app.call('GET', '/v1/rules')).body, [])
  t.same(await app.objects(helperId), [])
  const { status, body } = await app.push({ helper: helperId, if_offline: 'queue' })
  t.match([status, body], [201, { state: 'pending' }])
  t.same(names(edge), [])

  await app.connect(helperId, script)
  await stateOf(app, body.rule_id, 'active')
})

t.test('a client without the capability is refused by its id', async t => {
  const { app, edgeId, helperId } = await open(t)
  await app.connect(edgeId, script)
  await app.connect(helperId, { ...script, capabilities: {} })

  t.match(await app.push({ helper: helperId }), {
    status: 422,
    body: {
      error: {
        code: 'rule_field_unsupported_by_client',
        details: { field: 'helper', client_id: helperId }
      }
    }
  })
})

t.test('while an object waits for its client, the client of the rule keeps what it has', async t => {
  const { app, edgeId, helperId } = await open(t)
  const edge = await app.connect(edgeId, script)
  const other = await app.connect(helperId, script)
  const { rule_id: id } = (await app.push({ helper: helperId })).body
  await other.close()
  await until(
    async () => app.server.control.peers.find(helperId),
    peer => peer === undefined
  )

  const changed = await app.call('PATCH', `/v1/rules/${id}`, { listen_port: 9090 })
  t.match(changed, { status: 200, body: { state: 'active', change_pending: true, listen_port: 9090 } })
  t.same(names(edge), [RulePush.name])
  await edge.close()
  const empty = await app.connect(edgeId, script) // it has lost the rule
  t.match((await empty.until(RulePush.name)).body, { listen_from: 8080 })

  const again = await app.connect(helperId, script)
  t.match((await again.until(HelpPush.name)).body, { body: { port: 9090 } })
  t.match((await empty.until(RulePush.name, 2)).body, { listen_from: 9090 })
  await until(
    () => app.get(id),
    ({ change_pending: isPending }) => !isPending
  )
})

t.test('a refusal fails a new rule, and undoes a change, also a late one', async t => {
  const { app, edgeId, helperId } = await open(t)
  const edge = await app.connect(edgeId, script)
  const refuse = { refuse: 'denied_by_helper', message: 'not for you' }
  const first = await app.connect(helperId, { ...script, react: inOrder(refuse) })
  const refused = {
    status: 422,
    body: { error: { code: 'activation_failed', details: { reason: refuse.refuse, client_id: helperId } } }
  }

  const failed = await app.push({ helper: helperId })
  t.match(failed, refused)
  t.match(failed.body.error.details, { rule_state: 'failed' })
  t.same(names(edge), [])
  t.equal((await app.call('DELETE', `/v1/rules/${failed.body.error.details['rule_id']}`)).status, 204)
  await first.close()

  const second = await app.connect(helperId, { ...script, react: inOrder('accept', refuse, 'accept') })
  const { rule_id: id } = (await app.push({ helper: helperId })).body
  t.match(await app.call('PATCH', `/v1/rules/${id}`, { listen_port: 9090 }), refused)
  t.match(await app.get(id), { state: 'active', listen_port: 8080, change_pending: false })
  await second.close()
  await until(
    async () => app.server.control.peers.find(helperId),
    peer => peer === undefined
  )

  t.match(await app.call('PATCH', `/v1/rules/${id}`, { listen_port: 9191 }), { status: 200 })
  await app.connect(helperId, { ...script, react: inOrder(refuse, 'accept') })
  const undone = await until(
    () => app.get(id),
    ({ change_pending: isPending }) => !isPending
  )
  t.match(undone, { state: 'active', listen_port: 8080 })
})

t.test('an object that was refused is sent again with the next change of its rule', async t => {
  const { app, edgeId, helperId } = await open(t)
  await app.connect(edgeId, script)
  const refuse = { refuse: 'denied_by_helper' }
  const other = await app.connect(helperId, { ...script, react: inOrder('accept', refuse, refuse, 'accept') })
  const { rule_id: id } = (await app.push({ helper: helperId })).body
  t.match(await app.call('PATCH', `/v1/rules/${id}`, { listen_port: 9090 }), { status: 422 })
  t.match((await other.until(HelpPush.name, 3)).body, { body: { port: 8080 } }) // as it was, and refused
  await until(
    async () => app.log.filter(({ event }) => event === 'rule.part_refused').length,
    lines => lines === 2
  )
  t.match(await app.get(id), { state: 'active', change_pending: false })

  const changed = await app.call('PATCH', `/v1/rules/${id}`, { prefer_ipv6: true })

  t.match(changed, { status: 200, body: { prefer_ipv6: true, change_pending: false } })
  t.match((await other.until(HelpPush.name, 4)).body, { body: { port: 8080 } })
})

t.test('what a killed server has stored is sent after its start', async t => {
  const { app, edgeId, helperId } = await open(t)
  const { rule_id: id } = (await app.push({ helper: helperId, if_offline: 'queue' })).body
  await app.stop()

  const again = await rulesFixture(t, { dir: app.dir, plugins })
  const edge = await again.connect(edgeId, script)
  t.match(await again.get(id), { state: 'pending' })
  t.same(names(edge), [])
  await again.connect(helperId, script)
  await stateOf(again, id, 'active')
})

t.test(
  'a rule that moves to another client leaves the old object until its client has the change',
  async t => {
    const { app, edgeId, helperId } = await open(t)
    const nextId = await app.enroll('next')
    const { promise: applied, resolve: apply } = Promise.withResolvers<void>()
    const edge = await app.connect(edgeId, { ...script, react: inOrder('accept', applied) })
    const old = await app.connect(helperId, script)
    await app.connect(nextId, script)
    const { rule_id: id } = (await app.push({ helper: helperId })).body

    const changed = app.call('PATCH', `/v1/rules/${id}`, { helper: nextId })
    await edge.until(RulePush.name, 2)
    t.same(names(old), [HelpPush.name])
    apply()
    t.match(await changed, { status: 200, body: { helper: nextId } })
    t.match((await old.until(HelpRemove.name)).body, { id, removal: 'drain' })
    t.same((await app.objects(nextId)).length, 1)
  }
)

t.test('the object of a removed rule stays while connections drain, or until the port is closed', async t => {
  for (const until of ['drained', 'closed'] as const) {
    const { app, edgeId, helperId } = await open(t, ['users', 'clients', 'rules', helpers(until)])
    const edge = await app.connect(edgeId, script)
    const other = await app.connect(helperId, script)
    const { rule_id: id } = (await app.push({ helper: helperId })).body

    t.equal((await app.call('DELETE', `/v1/rules/${id}`)).status, 204)
    if (until === 'drained') {
      t.same(names(other), [HelpPush.name])
      edge.sendRemoved(inventoryRowOf(await edge.until(RuleRemove.name)))
    }
    t.match((await other.until(HelpRemove.name)).body, { id })
    await app.stop()
  }
})

t.test('a client is not deleted while rules of other clients need it', async t => {
  const { app, edgeId, helperId } = await open(t)
  await app.connect(edgeId, script)
  const other = await app.connect(helperId, script)
  const { rule_id: id } = (await app.push({ helper: helperId })).body
  await app.push({ listen_port: 9000, client: 'helper', helper: helperId })
  t.equal((await app.call('POST', `/v1/clients/${helperId}/revoke`)).status, 204)
  await other.closed()

  t.match(await app.call('DELETE', `/v1/clients/${helperId}`), {
    status: 409,
    body: { error: { code: 'client_in_use', details: { rule_ids: [id] } } }
  })
  t.match(await app.call('PATCH', `/v1/rules/${id}`, { helper: null }), { status: 200 })
  t.equal((await app.call('DELETE', `/v1/clients/${helperId}`)).status, 204)
  t.equal(await app.server.depsOf('clients').store.read(em => em.count(Client, {})), 1)
})

t.test('the objects of an owner on a client have a bound, and another owner has its own', async t => {
  const app = await rulesFixture(t, { plugins, keys: { max_rules_per_owner_per_client: 1 } })
  const helperId = await app.enroll('helper')
  await app.connect(helperId, script)
  for (const name of ['edge', 'lyon', 'oslo']) await app.connect(await app.enroll(name), script)
  await app.user('ann')

  t.match(await app.push({ helper: helperId }), { status: 201 })
  t.match(await app.push({ client: 'lyon', helper: helperId }), {
    status: 422,
    body: { error: { code: 'limit_reached', details: { limit: 1, client_id: helperId } } }
  })
  t.match(await app.push({ client: 'oslo', owner: 'ann', helper: helperId }), { status: 201 })
  t.equal((await app.objects(helperId)).length, 2)
})

t.test('rules of a plugin that is loaded later get their objects at the start', async t => {
  const withoutObjects = definePlugin({
    name: 'helpers',
    version: '1.0.0',
    kernel: '^2.0.0',
    needs: { rules: '^1.0.0' },
    fills: [ruleField({ ...helper, change: 'frozen' })]
  })
  const { app, edgeId, helperId } = await open(t, ['users', 'clients', 'rules', withoutObjects])
  await app.connect(edgeId, script)
  const { rule_id: id } = (await app.push({ helper: helperId })).body
  t.match(await app.get(id), { state: 'active' })
  await app.stop()

  const again = await rulesFixture(t, { dir: app.dir, plugins })
  const other = await again.connect(helperId, script)
  t.match((await other.until(HelpPush.name)).body, { id, body: { port: 8080 } })
})

t.test('a queued rule gets its object when the plugin is back that was away for a start', async t => {
  const { app, edgeId, helperId } = await open(t)
  const { rule_id: id } = (await app.push({ helper: helperId, if_offline: 'queue' })).body
  await app.stop()
  const without = await rulesFixture(t, { dir: app.dir })
  t.match(await without.get(id), { state: 'failed', state_reason: 'field_not_loaded' })
  await without.stop()

  const again = await rulesFixture(t, { dir: app.dir, plugins })
  t.match(await again.get(id), { state: 'pending' })
  const other = await again.connect(helperId, script)
  t.match((await other.until(HelpPush.name)).body, { id })
  await again.connect(edgeId, script)
})

t.test('a rule that was refused at create gets no object at the next start', async t => {
  const { app, edgeId, helperId } = await open(t)
  await app.connect(edgeId, script)
  await app.connect(helperId, { ...script, react: () => ({ refuse: 'denied_by_helper' }) })
  t.match(await app.push({ helper: helperId }), { status: 422 })
  await until(
    () => app.objects(helperId),
    objects => objects.every(({ removal }) => removal !== null)
  )
  await app.stop()

  const again = await rulesFixture(t, { dir: app.dir, plugins })

  t.same(
    (await again.objects(helperId)).filter(({ removal }) => removal === null),
    []
  )
})

t.test(
  'a start, a refresh and a removal read the objects of many rules together',
  { skip: notOnPostgres('it counts statements of SQLite') || notRepeated('it counts statements') },
  async t => {
    const { app, helperId } = await open(t)
    for (let port = 1; port <= 16; port++)
      await app.push({ listen_port: port, helper: helperId, if_offline: 'queue' })
    await app.stop()
    const asked = recordStatements(t)
    const aboutParts = () => asked.sql.filter(text => text.includes('rules_derived_part'))

    const again = await rulesFixture(t, { dir: app.dir, plugins })
    t.equal(aboutParts().length, 1, 'a start')
    const { rules, store } = again.server.depsOf('helpers') as unknown as Deps
    asked.reset()
    await store.change(em => rules.refresh({ owner: '_operator' }, em))
    t.equal(aboutParts().length, 1, 'a refresh without a change')
    asked.reset()
    const { ids } = await store.change(em => rules.removeAll({ owner: '_operator' }, em, 'cut'))
    t.same([ids.length, aboutParts().length], [16, 2], 'a removal selects and deletes once')
    t.ok((await again.objects(helperId)).every(({ removal }) => removal === 'cut'))
  }
)
