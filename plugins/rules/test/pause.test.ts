// Paused rules, and rules for an offline client.
import t from 'tap'
import { refusal } from '../../grants/test/fixture.ts'
import { RulePush } from '../wire.ts'
import { inOrder, rule, until } from './fixture.ts'
import { editable, patchFixture } from './patch-fixture.ts'

type Fixture = Awaited<ReturnType<typeof patchFixture>>

const post = ({ app, id }: Fixture, verb: string, query = '') =>
  app.call('POST', `/v1/rules/${id}/${verb}${query}`)

const isGone = async ({ app }: Fixture): Promise<unknown> =>
  until(async () => app.log.some(({ event }) => event === 'client.disconnected'), Boolean)

t.test('a rule is paused and resumed, each once or twice, and keeps its port', async t => {
  const on = await patchFixture(t)
  const { app, agent, id } = on

  for (const [verb, state] of [
    ['pause', 'paused'],
    ['resume', 'active']
  ] as const) {
    t.match(await post(on, verb, '?existing=cut'), { status: 204 })
    const paused = verb === 'pause'
    t.match(await app.get(id), { state, paused, state_reason: paused ? 'paused' : null })
    t.match(agent.received.at(-1)?.body, {
      paused: paused || undefined,
      existing: 'cut',
      targets: rule.targets
    })
    const received = agent.received.length
    t.match(await post(on, verb), { status: 204 })
    t.equal(agent.received.length, received, 'what changes nothing is not sent')
    t.match(await app.push(), refusal(409, 'port_in_use'))
    t.match(app.log.findLast(({ event }) => event === `rule.${state}`)?.fields, { rule: id })
  }
})

t.test('a rule can be created paused, and a patch resumes it', async t => {
  const { app, agent, patch, id } = await patchFixture(t, { paused: true })

  t.match(await app.get(id), { state: 'paused', paused: true })
  t.match(agent.received.at(-1)?.body, { paused: true, retry: false })
  t.match(await patch({ targets: [{ host: '10.0.0.9', port: 9 }] }), {
    status: 200,
    body: { state: 'paused' }
  })
  t.match(await patch({ paused: null }), { status: 200, body: { state: 'active', paused: false } })
})

t.test('a refused resume leaves the rule paused', async t => {
  const on = await patchFixture(
    t,
    { paused: true },
    { react: inOrder('accept', { refuse: 'port_in_use' }, 'accept') }
  )

  t.match(await post(on, 'resume'), refusal(409, 'port_in_use'))
  await on.agent.until(RulePush.name, 3)
  t.match(on.agent.received.at(-1)?.body, { paused: true })
  t.match(await on.app.get(on.id), { state: 'paused', paused: true })
})

t.test(
  'a rule of an offline client is paused at once, and the client pauses it at its reconnect',
  async t => {
    const on = await patchFixture(t)
    const { app, agent, clientId, id } = on
    await agent.close()
    await isGone(on)

    t.match(await post(on, 'pause'), { status: 204 })
    t.match(await app.get(id), { state: 'paused', paused: true })

    const again = await app.connect(clientId, { ...editable, inventory: [{ kind: 'rule', id, revision: 1 }] })
    t.match((await again.until(RulePush.name)).body, { revision: 2, paused: true })
  }
)

t.test('a paused rule stays paused after a restart of the server', async t => {
  const on = await patchFixture(t)
  await post(on, 'pause')

  await on.app.restart()

  t.match(await on.app.get(on.id), { state: 'paused', paused: true })
  t.match(await on.app.push({ if_offline: 'queue' }), refusal(409, 'port_in_use'))
})

t.test('a paused rule fails on an agent that cannot pause, and is paused when it can again', async t => {
  const on = await patchFixture(t, { paused: true })
  const { app, agent, clientId, id } = on
  await agent.close()
  await isGone(on)
  const old = await app.connect(clientId, { capabilities: {} })
  await until(
    () => app.get(id),
    ({ state_reason }) => state_reason === 'rule_field_unsupported_by_client'
  )
  t.notOk(
    old.received.some(({ name }) => name === RulePush.name),
    'it would open it'
  )
  await old.close()

  const again = await app.connect(clientId, editable)
  t.match((await again.until(RulePush.name)).body, { rule_id: id, paused: true })
  await until(
    () => app.get(id),
    ({ state }) => state === 'paused'
  )
})

t.test('a queued rule is pending until its client reconnects and opens it', async t => {
  const on = await patchFixture(t, null)
  const { app, agent, clientId } = on
  await agent.close()
  await isGone(on)

  t.match(await app.push({ if_offline: 'refuse' }), refusal(422, 'client_not_connected'))
  t.match(await app.push({ if_offline: 'later' }), refusal(400, 'validation.schema'))
  const queued = await app.push({ if_offline: 'queue' })
  t.match(queued, { status: 201, body: { state: 'pending' } })
  t.notHas(queued.body, 'if_offline')
  t.match(await app.push({ if_offline: 'queue' }), refusal(409, 'port_in_use'))

  const again = await app.connect(clientId, editable)
  t.match((await again.until(RulePush.name)).body, { rule_id: queued.body.rule_id, retry: false })
  await until(
    () => app.get(queued.body.rule_id),
    ({ state }) => state === 'active'
  )
})

t.test(
  'a queued rule fails if its client refuses it, and is refused if the client lacked a capability',
  async t => {
    const { 'rule.range': _, ...others } = editable.capabilities
    const on = await patchFixture(t, null, { capabilities: others })
    const { app, agent, clientId } = on
    await agent.close()
    await isGone(on)

    t.match(
      await app.push({ if_offline: 'queue', listen_port_end: 8090 }),
      refusal(422, 'rule_field_unsupported_by_client')
    )
    const { rule_id: id } = (await app.push({ if_offline: 'queue' })).body
    await app.connect(clientId, { ...editable, react: () => ({ refuse: 'port_in_use' }) })
    await until(
      () => app.get(id),
      ({ state }) => state === 'failed'
    )
    t.match(await app.get(id), { state_reason: 'port_in_use' })
  }
)

t.test('a queued rule for a connected client waits for its answer', async t => {
  const { app } = await patchFixture(t, null, { react: inOrder({ refuse: 'port_in_use' }, 'accept') })
  t.match(await app.push({ if_offline: 'queue' }), refusal(409, 'port_in_use'))
  t.match(await app.push({ if_offline: 'queue', listen_port: 8081 }), {
    status: 201,
    body: { state: 'active' }
  })
})
