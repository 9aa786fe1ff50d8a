// What the server sends to an agent that reconnects, and how its results change a running rule.
import t from 'tap'
import { Inventory } from '../../../kernel/wire/control.ts'
import { RulePush, RuleRemove, Settings, settingsPart } from '../wire.ts'
import { type Deps, inOrder, inventoryRowOf, rulesFixture, until } from './fixture.ts'

const pushes = (agent: { received: readonly { name: string; body: Readonly<Record<string, unknown>> }[] }) =>
  agent.received.filter(({ name }) => name === RulePush.name).map(({ body }) => body['listen_from'])

t.test('a reconnected agent receives only what differs from its inventory', async t => {
  const on = await rulesFixture(t)
  const clientId = await on.enroll()
  const first = await on.connect(clientId)
  for (const listen_port of [1, 2, 3]) t.equal((await on.push({ listen_port })).status, 201)
  const inventory = first.received
    .filter(({ name }) => name === RulePush.name)
    .map(asked => inventoryRowOf(asked))
  const { generation } = first.welcome
  await first.close()

  const whole = await on.connect(clientId, { inventory, generation })
  await on.push({ listen_port: 4 })
  t.same(pushes(whole), [4])
  t.notOk(whole.received.some(({ name }) => name === Inventory.name))
  await whole.close()

  const parted = await on.connect(clientId, { inventory: inventory.slice(1), generation })
  await parted.until(RulePush.name, 2)
  t.same(pushes(parted), [1, 4])
})

t.test('a running rule that cannot be opened again fails, is kept, and recovers by itself', async t => {
  const on = await rulesFixture(t)
  const clientId = await on.enroll()
  const first = await on.connect(clientId)
  const { rule_id: id } = (await on.push()).body
  await first.close()

  const second = await on.connect(clientId, { react: () => ({ refuse: 'port_in_use' }) })
  t.match((await second.until(RulePush.name)).body, { rule_id: id, retry: true })
  const failed = await until(
    () => on.get(id),
    ({ state }) => state === 'failed'
  )
  t.equal(failed.state_reason, 'port_in_use')
  t.same(await on.held(clientId), [{ id, revision: 1, removal: null }])

  second.sendStatus({ kind: 'rule', id, revision: 1 })
  const back = await until(
    () => on.get(id),
    ({ state }) => state === 'active'
  )
  t.equal(back.state_reason, null)
})

t.test('an unanswered request is sent again, on this stream and on the next', async t => {
  const on = await rulesFixture(t)
  const clientId = await on.enroll()
  const first = await on.connect(clientId, { react: () => 'never' })
  const making = on.push()
  await first.until(RulePush.name)
  await on.clock.advance(15_000)
  await first.until(RulePush.name, 2)
  t.equal((await making).status, 504)
  await first.close()

  const second = await on.connect(clientId, { react: inOrder({ refuse: 'denied_by_agent' }, 'take') })

  await second.until(RulePush.name)
  const [rule] = await until(
    async () => (await on.call<{ state: string; state_reason: string }[]>('GET', '/v1/rules')).body,
    ([found]) => found?.state === 'failed'
  )
  t.equal(rule?.state_reason, 'denied_by_agent')
  t.same(await on.held(clientId), [], 'it never was active: it is not tried again')
})

t.test(
  'of several results in one transaction the last counts, and each is logged after the commit',
  async t => {
    const on = await rulesFixture(t)
    const clientId = await on.enroll()
    await on.connect(clientId)
    const { rule_id: id } = (await on.push()).body
    const { rules, store } = on.server.depsOf('rules') as Deps
    const rowOf = () => ({ clientId, kind: 'rule', id, revision: 1, removal: null })
    const results = [
      { row: rowOf(), result: { status: 'refused', code: 'port_in_use', message: '' } as const },
      { row: rowOf(), result: { status: 'applied' } as const }
    ]
    const events = () => on.log.filter(({ fields }) => fields['rule'] === id).map(({ event }) => event)
    const recordAll = (after: () => void) =>
      store.change(async em => {
        for (const { row, result } of results) await rules.kind.recordResult?.(row, result, em)
        after()
      })

    await t.rejects(
      recordAll(() => {
        throw new Error('one of the group failed')
      })
    )
    await recordAll(() => {})

    t.same(events(), ['rule.active'], 'that of the create')
    for (const { row, result } of results) rules.kind.resultRecorded?.(row, result)
    t.same(events(), ['rule.active', 'rule.failed', 'rule.active'])
    t.match(await on.get(id), { state: 'active', state_reason: null })
  }
)

t.test('a rule that the server does not know is cut', async t => {
  const on = await rulesFixture(t)
  const inventory = [{ kind: 'rule', id: '01ARZ3NDEKTSV4RRFFQ69G5FAV', revision: 7 }]

  const agent = await on.connect(await on.enroll(), { inventory })

  t.match((await agent.until(RuleRemove.name)).body, { rule_id: inventory[0]?.id, removal: 'cut' })
})

t.test('drain and idle times come with the welcome', async t => {
  const on = await rulesFixture(t, { keys: { drain_timeout_secs: 7, tcp_idle_timeout_secs: 600 } })

  const { welcome } = await on.connect(await on.enroll())

  const { codec } = on.server.depsOf('rules')
  t.same(codec.decode(Settings, welcome.parts[settingsPart] ?? new Uint8Array()), {
    drain_timeout_secs: 7,
    tcp_idle_timeout_secs: 600
  })
})
