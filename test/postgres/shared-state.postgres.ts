// Two servers in this process share one database: each sees the state that the other has stored.
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setImmediate } from 'node:timers/promises'
import t, { type Test } from 'tap'
import { insertClient, type TestServer, testServer } from '../../kit/test-server.ts'
import { openTestStore } from '../../kit/test-store.ts'
import { makeCertificate } from '../../plugins/certificate/make-certificate.ts'
import { createKey, redeemKey } from '../../plugins/enrollment/test/fixture.ts'

const { cert, key } = await makeCertificate([])
const unauthenticated = { authorization: '' }
const root = { user_id: 'root', password: 'a long enough password' }

async function servers(t: Test): Promise<readonly [TestServer, TestServer]> {
  const dir = t.testdir({ a: {}, b: {}, store: {} })
  const tls = { tls_cert_path: join(dir, 'cert.pem'), tls_key_path: join(dir, 'key.pem') }
  writeFileSync(tls.tls_cert_path, cert)
  writeFileSync(tls.tls_key_path, key, { mode: 0o600 })
  const store = await openTestStore(join(dir, 'store'), 'template')
  if (!store) throw new TypeError('this test is for PostgreSQL')
  t.teardown(store.drop)
  const start = (id: string) =>
    testServer(t, {
      dir: join(dir, id),
      plugins: [
        ...['users', 'clients', 'auth', 'credentials', 'rules', 'cli', 'apply', 'console'],
        ...['advertised-endpoint', 'enrollment']
      ],
      keys: {
        ...tls,
        store_url: store.place.url,
        server_id: id,
        operator_http_public_origin: 'https://sluice.test'
      }
    })
  const a = await start('a')
  const starting = start('b')
  const state = { isStarting: true }
  starting.finally(() => (state.isStarting = false)).catch(() => {}) // the caller that awaits it gets the error
  while (state.isStarting) {
    await a.clock.advance(2_000) // sends the 2 s heartbeat that the other server waits for
    await setImmediate()
  }
  return [a, await starting]
}

const setupTokenOf = ({ log }: TestServer): string =>
  log.findLast(({ event }) => event === 'onboarding.setup_token')?.message.slice(-43) ?? ''

const onboard = (server: TestServer, setup_token: string) =>
  server.call(
    'POST',
    '/v1/auth/onboarding',
    { ...root, display_name: 'Root', password_confirm: root.password, setup_token },
    unauthenticated
  )

const login = (server: TestServer, password: string) =>
  server.call('POST', '/v1/auth/login', { ...root, password }, unauthenticated)

t.test(
  'the setup token of the last start is valid at each server; failed logins at either lock both',
  async t => {
    const [a, b] = await servers(t)

    t.match(await onboard(b, setupTokenOf(a)), {
      status: 401,
      body: { error: { code: 'setup_token_invalid' } }
    })
    t.match(await onboard(a, setupTokenOf(b)), { status: 201 })

    for (const server of [a, b, a, b, a]) t.match(await login(server, 'a wrong password'), { status: 401 })
    for (const server of [a, b])
      t.match(await login(server, root.password), { status: 429, body: { error: { code: 'rate_limited' } } })
  }
)

t.test('one Idempotency-Key at two servers at once makes one token', async t => {
  const [a, b] = await servers(t)
  await a.call('POST', '/v1/users', { user_id: 'ann', display_name: 'Ann', role: 'user' })
  const path = '/v1/users/ann/credentials'

  for (let round = 1; round <= 10; round++) {
    const make = (server: TestServer) =>
      server.call('POST', path, { label: 'ci' }, { 'idempotency-key': `key-${round}` })
    const statuses = (await Promise.all([a, b].map(make))).map(({ status }) => status)
    t.same(statuses.sort(), [201, 409])
    t.equal((await b.call<unknown[]>('GET', path)).body.length, round)
  }
})

t.test(
  'an enrollment key at two servers at once is used up exactly, by hosts that each have a name',
  async t => {
    const [a, b] = await servers(t)
    const { key_id: id, key } = await createKey(a, { uses: 8 })
    const redeemAt = (server: TestServer, token: string) => redeemKey(server, key, { token })

    const both = await Promise.all([redeemAt(a, 'same'), redeemAt(b, 'same'), redeemAt(a, 'same')])
    const replies = await Promise.all(
      Array.from({ length: 12 }, (_, i) => redeemAt(i % 2 === 0 ? a : b, `token ${i}`))
    )

    t.equal(new Set(both.map(reply => JSON.stringify(reply, ['client_id', 'client_name']))).size, 1)
    const names = replies.flatMap(reply => (typeof reply === 'object' ? reply.client_name : []))
    t.equal(names.length, 7)
    t.equal(new Set(names).size, 7)
    t.same(new Set(replies.filter(reply => typeof reply !== 'object')), new Set(['enrollment_invalid']))
    t.match(await b.call('GET', `/v1/enrollment-keys/${id}`), {
      body: { used: 8, clients: 8, state: 'spent' }
    })
  }
)

t.test('of two rules that get one name at two servers at once, one is refused', async t => {
  const [a, b] = await servers(t)
  await insertClient(a, 'paris')
  const push = (server: TestServer, more: object) =>
    server.call<{ rule_id: string }>('POST', '/v1/rules', {
      client: 'paris',
      if_offline: 'queue',
      targets: [{ host: '10.0.0.1', port: 80 }],
      ...more
    })
  const statusesOf = (replies: readonly { readonly status: number }[]) =>
    replies.map(({ status }) => status).sort()

  for (let port = 1; port < 10; port += 2) {
    const pushed = await Promise.all([
      push(a, { listen_port: port, name: `created-${port}` }),
      push(b, { listen_port: port + 1, name: `created-${port}` })
    ])
    t.same(statusesOf(pushed), [201, 409])
    const others = [await push(a, { listen_port: port + 100 }), await push(a, { listen_port: port + 101 })]
    const renamed = await Promise.all(
      [a, b].map((server, at) =>
        server.call('PATCH', `/v1/rules/${others[at]?.body.rule_id}`, { name: `changed-${port}` })
      )
    )
    t.same(statusesOf(renamed), [200, 409])
  }
})

t.test('one server at a time applies a file, and pages at each server see a change', async t => {
  const [a, b] = await servers(t)
  const seen = async (server: TestServer) =>
    (await server.call<{ last: number }>('GET', '/v1/changes')).body.last
  const before = await seen(b)

  const { body } = await a.call<{ lease_id: string }>('POST', '/v1/apply-leases')
  t.match(await b.call('POST', '/v1/apply-leases'), {
    status: 409,
    body: { error: { code: 'apply_in_progress' } }
  })
  t.equal((await b.call('DELETE', `/v1/apply-leases/${body.lease_id}`)).status, 204)
  t.equal((await b.call('POST', '/v1/apply-leases')).status, 201)

  await a.clock.advance(200)
  while ((await seen(b)) === before) await setImmediate()
  t.equal(await seen(a), await seen(b))
})
