// Hosts that enroll with a key.
import t from 'tap'
import { hashOf } from '../../../kernel/identity/secret.ts'
import type { Kernel } from '../../../kernel/plugin.ts'
import { type TestServer, testServer } from '../../../kit/test-server.ts'
import type { ClientRow } from '../../clients/client-row.ts'
import { Admission } from '../../clients/entities.ts'
import type { Clients } from '../../clients/exports.ts'
import { EnrollmentKey } from '../entities.ts'
import type { KeyRow } from '../key-schema.ts'
import { keyBounds } from '../redeem-key.ts'
import { codeIn, createCode, createKey, endpointUrl, keysUrl, plugins, redeem, redeemKey } from './fixture.ts'

const clientsOf = async (app: TestServer) => (await app.call<ClientRow[]>('GET', '/v1/clients')).body
const keyRow = async (app: TestServer, id: string) => (await app.call<KeyRow>('GET', `${keysUrl}/${id}`)).body

t.test('a host gets its host name, an address if the key says so, and its own token', async t => {
  const app = await testServer(t, { plugins })
  const { key_id: id, key } = await createKey(app, { address: 'auto' })

  const redeemed = await redeemKey(app, key, { token: 'one', host: 'web-1', from: '198.51.100.7' })

  const [client] = await clientsOf(app)
  t.match(client, {
    client_name: 'web-1',
    address: '198.51.100.7',
    state: 'disconnected',
    enrollment_key_id: id,
    ephemeral_secs: null
  })
  t.strictSame(redeemed, {
    client_id: client?.client_id,
    client_name: 'web-1',
    server_endpoint: `127.0.0.1:${app.server.control.port()}`
  })
  t.match(await keyRow(app, id), { used: 1, clients: 1, pending_clients: 0, state: 'active' })
})

t.test(
  'an agent whose repeated request is read while the first is stored gets its client, no refusal',
  async t => {
    const app = await testServer(t, { plugins })
    const { key } = await createKey(app)
    const deps = app.server.depsOf('enrollment')
    const clients = Reflect.get(deps, 'clients') as Clients
    let lookups = 0
    let first: unknown = null
    const betweenLookups = async () => {
      if (++lookups === 2) first = await redeemKey(app, key, { token: 'one' })
    }
    const raced: Pick<Clients, 'findByToken' | 'isTokenAvailable'> = {
      findByToken: (...args) => betweenLookups().then(() => clients.findByToken(...args)),
      isTokenAvailable: (...args) => betweenLookups().then(() => clients.isTokenAvailable(...args))
    }

    const repeated = await redeemKey(app, key, {
      token: 'one',
      deps: { ...deps, clients: { ...clients, ...raced } } as Kernel
    })

    t.strictSame(repeated, first)
    t.equal((await clientsOf(app)).length, 1)
  }
)

t.test('names are unique and legal, whatever the host is called', async t => {
  const app = await testServer(t, { plugins })
  await redeem(app, codeIn(await createCode(app, { name: 'taken' })), 'by code')
  const { key } = await createKey(app)
  const nameOf = async (host: string, token: string) => {
    const redeemed = await redeemKey(app, key, { token, host })
    return typeof redeemed === 'string' ? redeemed : redeemed.client_name
  }
  const cases = [
    ['web', 'web'],
    ['web', 'web-2'],
    ['web', 'web-3'],
    ['taken', 'taken-2'],
    ['all', 'all-2'],
    ['me', 'me-2'],
    ['me', 'me-3'],
    ['*', 'host'],
    ['-', 'host-2'],
    ['', 'host-3'],
    ['_dmz', 'dmz'],
    ['@home', 'home'],
    ['a b\u202ec', 'a-b-c'],
    ['01J0000000000000000000000A', '01J0000000000000000000000A-2'],
    ['h'.repeat(255), 'h'.repeat(200)]
  ] as const

  for (const [i, [host, name]] of cases.entries()) t.equal(await nameOf(host, `token ${i}`), name)
})

t.test('the hundredth host of a name gets a random suffix', async t => {
  const app = await testServer(t, { plugins })
  const { key } = await createKey(app)
  for (let i = 1; i <= 99; i++) await redeemKey(app, key, { token: `token ${i}` })

  t.match(await redeemKey(app, key, { token: 'last' }), { client_name: /^web-[0-9a-z]{8}$/ })

  t.equal(new Set((await clientsOf(app)).map(({ client_name }) => client_name)).size, 100)
})

t.test('exactly as many of 30 concurrent hosts enroll as the key has uses', async t => {
  const app = await testServer(t, { plugins })
  const { key_id: id, key } = await createKey(app, { uses: 7 })

  const replies = await Promise.all(
    Array.from({ length: 30 }, (_, i) => redeemKey(app, key, { token: `token ${i}` }))
  )

  const enrolled = replies.filter(reply => typeof reply === 'object')
  t.equal(enrolled.length, 7)
  t.same(new Set(replies.filter(reply => typeof reply === 'string')), new Set(['enrollment_invalid']))
  t.equal(new Set(enrolled.map(({ client_name }) => client_name)).size, 7)
  t.equal((await clientsOf(app)).length, 7)
  t.match(await keyRow(app, id), { used: 7, clients: 7, state: 'spent' })
})

t.test('an agent that repeats its request gets the same client and uses up nothing', async t => {
  const app = await testServer(t, { plugins })
  const { key_id: id, key } = await createKey(app, { uses: 1 })

  const replies = await Promise.all(Array.from({ length: 5 }, () => redeemKey(app, key, { token: 'one' })))
  const later = await redeemKey(app, key, { token: 'one', host: 'renamed' })

  t.equal(new Set(replies.map(reply => JSON.stringify(reply))).size, 1)
  t.match(later, { client_name: 'web' })
  t.strictSame(later, replies[0])
  t.match(await keyRow(app, id), { used: 1, clients: 1 })
})

t.test('a host that a code has enrolled stays the same client when it uses a key', async t => {
  const app = await testServer(t, { plugins })
  const before = await redeem(app, codeIn(await createCode(app)), 'token')
  const { key_id: id, key } = await createKey(app)

  t.strictSame(await redeemKey(app, key, { token: 'token' }), before)

  t.match(await keyRow(app, id), { used: 0, clients: 0 })
})

t.test('a spent, expired, deleted or unknown key is refused like an unknown code', async t => {
  const app = await testServer(t, { plugins })
  const spent = await createKey(app, { uses: 1 })
  const first = await redeemKey(app, spent.key, { token: 'first' })
  const expired = await createKey(app, { expires_at: '2026-01-15T12:00:01Z' })
  const deleted = await createKey(app)
  await app.call('DELETE', `${keysUrl}/${deleted.key_id}`)
  await app.clock.advance(1000)

  for (const key of [spent.key, expired.key, deleted.key, `svck_${'x'.repeat(43)}`])
    t.equal(await redeemKey(app, key, { token: 'late' }), 'enrollment_invalid')

  t.strictSame(await redeemKey(app, spent.key, { token: 'first' }), first, 'the holder may repeat')
  t.match(await keyRow(app, spent.key_id), { state: 'spent' })
  t.match(await keyRow(app, expired.key_id), { state: 'expired', used: 0 })
  app.clock.step(-86_400_000)
  t.equal(await redeemKey(app, expired.key, { token: 'late' }), 'enrollment_invalid', 'a clock set back')
})

t.test('the token of a revoked client is not accepted again, and a new one is another client', async t => {
  const app = await testServer(t, { plugins })
  const { key_id: id, key } = await createKey(app)
  await redeemKey(app, key, { token: 'one' })
  const [client] = await clientsOf(app)
  await app.call('POST', `/v1/clients/${client?.client_id}/revoke`)

  t.equal(await redeemKey(app, key, { token: 'one' }), 'enrollment_invalid')

  t.match(await redeemKey(app, key, { token: 'two' }), { client_name: 'web-2' })
  t.match(await keyRow(app, id), { used: 2, clients: 2 })
  await app.call('DELETE', `/v1/clients/${client?.client_id}`)
  t.match(await keyRow(app, id), { used: 2, clients: 1 })
})

t.test('a leaked key fills neither the list of clients nor that of pending ones', async t => {
  const app = await testServer(t, { plugins })
  const open = await createKey(app)
  const guarded = await createKey(app, { approve: true })
  const { store } = app.server.depsOf('enrollment')
  const rowsOf = (keyId: string, count: number, pendingSince: number | null) =>
    Array.from({ length: count }, (_, i) => ({ clientId: `${keyId.slice(0, 20)}${i}`, keyId, pendingSince }))
  await store.change(em => em.insertMany(Admission, rowsOf(open.key_id, keyBounds.clients, null)))

  t.equal(await redeemKey(app, open.key, { token: 'more' }), 'failed_precondition')
  t.match(await redeemKey(app, guarded.key, { token: 'other' }), { client_name: 'web' })
  await store.change(async em => {
    await em.nativeDelete(Admission, {})
    await em.insertMany(Admission, rowsOf(guarded.key_id, keyBounds.pending, 1))
  })
  t.equal(await redeemKey(app, guarded.key, { token: 'another' }), 'failed_precondition')
  t.match(await redeemKey(app, open.key, { token: 'more' }), { client_name: 'web-2' })
})

t.test('a host learns the endpoint of today, and none while the server has none', async t => {
  const app = await testServer(t, { plugins })
  const { key } = await createKey(app)
  await app.call('PUT', endpointUrl, { advertised_endpoint: 'localhost:2' })

  t.match(await redeemKey(app, key, { token: 'one' }), { server_endpoint: 'localhost:2' })

  await app.call('PUT', endpointUrl, { advertised_endpoint: null })
  await app.stop()
  const keys = { advertised_endpoint: 'late.example:7443' }
  const broken = await testServer(t, { plugins, keys, dir: app.dir, clock: app.clock })
  t.equal(await redeemKey(broken, key, { token: 'two' }), 'failed_precondition')
  const { store } = broken.server.depsOf('enrollment')
  t.match(await store.read(em => em.findAll(EnrollmentKey)), [{ used: 1 }])
})

t.test('log and audit log name the key by id and label, and never have the key', async t => {
  const app = await testServer(t, { plugins: [...plugins, 'audit'] })
  const { key_id: id, key } = await createKey(app)
  const redeemed = await redeemKey(app, key, { token: 'one' })
  await redeemKey(app, key, { token: 'one' })
  await redeemKey(app, 'svck_nonsense', { token: 'two' })
  await app.call('DELETE', `${keysUrl}/${id}`)

  const { body } = await app.call<Record<string, unknown>[]>('GET', '/v1/audit')

  t.match(
    body.map(({ action }) => action),
    ['enrollment_key.delete', 'client.enroll', 'enrollment_key.create']
  )
  t.match(body[1], {
    actor: '_enrollment',
    resource_kind: 'client',
    outcome: 'allow',
    changes: [
      { field: 'client_name', to: 'web' },
      { field: 'enrollment_key', to: { key_id: id, label: 'web servers' } },
      { field: 'remote_addr', to: '192.0.2.1' }
    ]
  })
  t.match(
    app.log.filter(({ event }) => event === 'enrollment.redeemed'),
    [{ fields: { key_id: id, key_label: 'web servers', client_name: 'web' } }]
  )
  const written = JSON.stringify([body, app.log, redeemed])
  t.notMatch(written, key)
  t.notMatch(written, hashOf(key))
})

t.test('metrics have the uses of each key and the number of pending clients', async t => {
  const app = await testServer(t, { plugins: [...plugins, 'metrics'] })
  const { key_id: id, key } = await createKey(app, { approve: true })
  await redeemKey(app, key, { token: 'one' })

  const { text } = await app.call('GET', '/v1/metrics')

  t.match(text, `svc_enrollment_key_uses_total{key="${id}",label="web servers"} 1`)
  t.match(text, /^svc_clients_pending 1$/m)
})
