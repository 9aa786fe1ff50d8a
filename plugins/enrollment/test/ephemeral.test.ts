// Ephemeral clients: deleted after a time without a connection. Time counts only while a server runs.
import t, { type Test } from 'tap'
import { StoreValue } from '../../../kernel/identity/entities.ts'
import { fakeClock } from '../../../kit/fake-clock.ts'
import { type TestServer, testServer } from '../../../kit/test-server.ts'
import { openClientExpiry, roundMs } from '../../clients/client-expiry.ts'
import type { ClientRow } from '../../clients/client-row.ts'
import { rulesFixture, until } from '../../rules/test/fixture.ts'
import { createKey, plugins, redeemKey } from './fixture.ts'

const all = [...plugins, 'users', 'rules', 'audit']

async function ephemeralClient(app: TestServer) {
  const { key } = await createKey(app, { ephemeral_secs: 300 })
  const redeemed = await redeemKey(app, key, { token: 'one' })
  if (typeof redeemed === 'string') throw new Error(redeemed)
  return { key, id: redeemed.client_id }
}

async function ephemeralFixture(t: Test) {
  const app = await rulesFixture(t, { plugins: all })
  return { ...app, ...(await ephemeralClient(app)) }
}

const names = async (app: TestServer): Promise<string[]> =>
  (await app.call<ClientRow[]>('GET', '/v1/clients')).body.map(({ client_name }) => client_name)

const runningMs = (app: TestServer): Promise<number> =>
  app.server
    .depsOf('clients')
    .store.read(async em =>
      Number((await em.findOne(StoreValue, { name: 'clients_running_ms' }))?.value ?? 0)
    )

/** Lets rounds of the expiry pass, and waits for each. */
async function pass(app: TestServer, rounds: number): Promise<void> {
  for (let i = 0; i < rounds; i++) {
    const before = await runningMs(app)
    await app.clock.advance(roundMs)
    await until(
      () => runningMs(app),
      now => now === before + roundMs
    )
  }
}

t.test('an ephemeral client without a connection is deleted with its rules after its time', async t => {
  const app = await ephemeralFixture(t)
  t.match(await app.call('GET', `/v1/clients/${app.id}`), { body: { ephemeral_secs: 300 } })
  const made = await app.push({ client: 'web', if_offline: 'queue' })
  await app.enroll('other')

  await pass(app, 10)
  t.same(await names(app), ['web', 'other'], 'the first round has seen it without a connection')
  await pass(app, 1)
  await until(
    () => names(app),
    found => found.length === 1
  )

  t.same(await names(app), ['other'])
  t.match(await app.call('GET', `/v1/rules/${made.body.rule_id}`), { status: 404 })
  const { body } = await app.call<object[]>('GET', '/v1/audit')
  t.match(body[0], {
    actor: '_system',
    action: 'client.expire',
    resource_id: app.id,
    outcome: 'allow',
    changes: [{ field: 'client_name', from: 'web', to: null }]
  })
  t.match(
    app.log.filter(({ event }) => event === 'client.expired'),
    [{ fields: { client_id: app.id, client_name: 'web' } }]
  )
  t.equal(await redeemKey(app, app.key, { token: 'one' }), 'enrollment_invalid', 'its token is revoked')
})

t.test('a connection, however short, begins the time again', async t => {
  const app = await ephemeralFixture(t)
  await pass(app, 10)

  const agent = await app.connect(app.id, { token: 'one' })
  agent.close()
  const isConnected = async () => (await app.call<ClientRow>('GET', `/v1/clients/${app.id}`)).body.connected
  await until(isConnected, connected => !connected)
  await pass(app, 10)

  t.same(await names(app), ['web'])
  await pass(app, 1)
  await until(
    () => names(app),
    found => found.length === 0
  )
})

t.test('a connected client stays', async t => {
  const app = await ephemeralFixture(t)
  await app.connect(app.id, { token: 'one' })
  const clock = fakeClock() // the clock of the server does not move, so its agent stays connected
  const deps = { ...app.server.depsOf('clients'), clock } as unknown as Parameters<typeof openClientExpiry>[0]
  const countRound = openClientExpiry(deps)

  for (let i = 0; i < 15; i++) {
    await clock.advance(roundMs)
    await countRound()
  }

  t.same(await names(app), ['web'])
  t.equal(await runningMs(app), 15 * roundMs)
})

t.test('neither a step of the clock nor a stopped server counts as time without a connection', async t => {
  const app = await testServer(t, { plugins: all })
  await ephemeralClient(app)
  await pass(app, 9)

  app.clock.step(400 * 86_400_000)
  await pass(app, 1)
  t.same(await names(app), ['web'])
  await app.stop()
  await app.clock.advance(86_400_000)
  await app.restart()
  t.same(await names(app), ['web'])

  await pass(app, 1)
  await until(
    () => names(app),
    found => found.length === 0
  )
})

t.test('a revoked ephemeral client is deleted, too', async t => {
  const app = await ephemeralFixture(t)
  await app.call('POST', `/v1/clients/${app.id}/revoke`)

  await pass(app, 11)

  await until(
    () => names(app),
    found => found.length === 0
  )
})

t.test('without ephemeral clients a round writes nothing', async t => {
  const app = await rulesFixture(t, { plugins: all })
  await createKey(app)

  await app.clock.advance(3 * roundMs)

  const { store } = app.server.depsOf('clients')
  t.equal(await store.read(em => em.count(StoreValue, { name: 'clients_running_ms' })), 0)
})
