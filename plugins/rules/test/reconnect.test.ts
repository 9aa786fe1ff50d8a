// The server sends the differences to an agent that reconnects, and the results change running rules.
import t from 'tap'
import { Inventory } from '../../../kernel/wire/control.ts'
import { type ScriptedAgent, scriptedResponse } from '../../../kit/scripted-agent.ts'
import { RulePush, RuleRemove, RulesOpen, Settings, settingsPart } from '../wire.ts'
import { type Deps, inOrder, inventoryRowOf, ruleResponses, rulesFixture, until } from './fixture.ts'

const pushedPorts = ({ received }: ScriptedAgent) =>
  received.filter(({ name }) => name === RulePush.name).map(({ body }) => body['listen_from'])

t.test('a reconnected agent receives only the differences to its inventory', async t => {
  const app = await rulesFixture(t)
  const clientId = await app.enroll()
  const first = await app.connect(clientId)
  for (const listen_port of [1, 2, 3]) t.equal((await app.push({ listen_port })).status, 201)
  const inventory = first.received
    .filter(({ name }) => name === RulePush.name)
    .map(push => inventoryRowOf(push))
  const { generation } = first.welcome
  await first.close()

  const unchanged = await app.connect(clientId, { inventory, generation })
  await app.push({ listen_port: 4 })
  t.same(pushedPorts(unchanged), [4])
  t.notOk(unchanged.received.some(({ name }) => name === Inventory.name))
  await unchanged.close()

  const changed = await app.connect(clientId, { inventory: inventory.slice(1), generation })
  await changed.until(RulePush.name, 2)
  t.same(pushedPorts(changed), [1, 4])
})

t.test('a running rule that cannot be reopened fails, stays on the agent, and recovers', async t => {
  const app = await rulesFixture(t)
  const clientId = await app.enroll()
  const first = await app.connect(clientId)
  const { rule_id: id } = (await app.push()).body
  await first.close()

  const second = await app.connect(clientId, { react: () => ({ refuse: 'port_in_use' }) })
  t.match((await second.until(RulePush.name)).body, { rule_id: id, retry: true })
  const failed = await until(
    () => app.get(id),
    ({ state }) => state === 'failed'
  )
  t.equal(failed.state_reason, 'port_in_use')
  t.same(await app.objects(clientId), [{ id, revision: 1, removal: null }])

  second.sendStatus({ kind: 'rule', id, revision: 1 })
  const back = await until(
    () => app.get(id),
    ({ state }) => state === 'active'
  )
  t.equal(back.state_reason, null)
})

t.test('an unanswered request is sent again, on this stream and on the next', async t => {
  const app = await rulesFixture(t)
  const clientId = await app.enroll()
  const first = await app.connect(clientId, { react: () => 'never' })
  const making = app.push()
  await first.until(RulePush.name)
  await app.clock.advance(15_000)
  await first.until(RulePush.name, 2)
  t.equal((await making).status, 504)
  await first.close()

  const second = await app.connect(clientId, { react: inOrder({ refuse: 'denied_by_agent' }, 'accept') })

  await second.until(RulePush.name)
  const [rule] = await until(
    async () => (await app.call<{ state: string; state_reason: string }[]>('GET', '/v1/rules')).body,
    ([found]) => found?.state === 'failed'
  )
  t.equal(rule?.state_reason, 'denied_by_agent')
  t.same(await app.objects(clientId), [], 'it was never active, so it is not retried')
})

t.test(
  'the last of several results in one transaction counts, and each is logged after the commit',
  async t => {
    const app = await rulesFixture(t)
    const clientId = await app.enroll()
    await app.connect(clientId)
    const { rule_id: id } = (await app.push()).body
    const { rules, store } = app.server.depsOf('rules') as Deps
    const rowOf = () => ({ clientId, kind: 'rule', id, revision: 1, removal: null })
    const results = [
      { row: rowOf(), result: { status: 'refused', code: 'port_in_use', message: '' } as const },
      { row: rowOf(), result: { status: 'applied' } as const }
    ]
    const events = () => app.log.filter(({ fields }) => fields['rule'] === id).map(({ event }) => event)
    const recordAll = (after: () => void) =>
      store.change(async em => {
        for (const { row, result } of results) await rules.kind.recordResult?.(row, result, em)
        after()
      })

    await t.rejects(
      recordAll(() => {
        throw new Error('another result of the transaction failed')
      })
    )
    await recordAll(() => {})

    t.same(events(), ['rule.active'], 'only that of the create')
    for (const { row, result } of results) rules.kind.resultRecorded?.(row, result)
    t.same(events(), ['rule.active', 'rule.failed', 'rule.active'])
    t.match(await app.get(id), { state: 'active', state_reason: null })
  }
)

t.test('a rule that the server does not know is cut', async t => {
  const app = await rulesFixture(t)
  const inventory = [{ kind: 'rule', id: '01ARZ3NDEKTSV4RRFFQ69G5FAV', revision: 7 }]

  const agent = await app.connect(await app.enroll(), { inventory })

  t.match((await agent.until(RuleRemove.name)).body, { rule_id: inventory[0]?.id, removal: 'cut' })
})

t.test('Welcome has the drain and idle times', async t => {
  const app = await rulesFixture(t, { keys: { drain_timeout_secs: 7, tcp_idle_timeout_secs: 600 } })

  const { welcome } = await app.connect(await app.enroll())

  const { codec } = app.server.depsOf('rules')
  t.same(codec.decode(Settings, welcome.parts[settingsPart] ?? new Uint8Array()), {
    drain_timeout_secs: 7,
    tcp_idle_timeout_secs: 600
  })
})

t.test('at a reconnect the agent opens no rule before it has received the last one', async t => {
  const app = await rulesFixture(t)
  const clientId = await app.enroll()
  const first = await app.connect(clientId)
  for (const listen_port of [1, 2, 3]) t.equal((await app.push({ listen_port })).status, 201)
  t.notOk(
    first.received.some(({ body }) => body['deferred']),
    'a new rule opens at once'
  )
  await first.close()

  const responses = [...ruleResponses, scriptedResponse(RulesOpen, () => ({}))]
  const empty = await app.connect(clientId, { responses })
  await empty.until(RulesOpen.name)
  const received = empty.received.filter(({ name }) => name === RulePush.name || name === RulesOpen.name)

  t.match(received, [
    { body: { deferred: true } },
    { body: { deferred: true } },
    { body: { deferred: true } },
    { name: RulesOpen.name }
  ])
})
