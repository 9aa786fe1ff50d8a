// Requests to endpoints: signature, allowed addresses, TLS, limits, and the configuration.
import { once } from 'node:events'
import { chmodSync, writeFileSync } from 'node:fs'
import { connect, createServer, type LookupFunction } from 'node:net'
import { join } from 'node:path'
import { getCACertificates, setDefaultCACertificates } from 'node:tls'
import { inspect } from 'node:util'
import t, { type Test } from 'tap'
import { testServer } from '../../../../kit/test-server.ts'
import { makeCertificate } from '../../../../plugins/certificate/make-certificate.ts'
import { isPublic, lookupPublic } from '../address.ts'
import type { TestRow } from '../schema.ts'
import { sign } from '../signature.ts'
import { plugin, plugins, secret, type WebhooksFixture, webhooksFixture } from './fixture.ts'
import { openReceiver } from './receiver.ts'

const test = async ({ call }: WebhooksFixture) => (await call<TestRow>('POST', '/v1/webhooks/ops/test')).body

t.test('the signature follows Standard Webhooks', async t => {
  const key = Buffer.from(secret.slice('whsec_'.length), 'base64')
  const signed = {
    id: 'msg_p5jXN8AQM9LWM0D4loKWxJek',
    timestampSecs: 1_614_265_330,
    body: '{"test": 2432232314}'
  }

  t.equal(sign(key, signed), 'v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=')
})

t.test('only globally reachable addresses are public', async t => {
  for (const address of ['1.1.1.1', '172.32.0.1', '100.128.0.1', '2606:4700::1111', '2a00::1'])
    t.ok(isPublic(address), address)
  for (const address of [
    '0.0.0.0',
    '10.1.2.3',
    '100.64.0.1',
    '127.0.0.1',
    '169.254.169.254',
    '172.16.0.1',
    '192.168.1.1',
    '198.18.0.1',
    '224.0.0.1',
    '255.255.255.255',
    '::',
    '::1',
    '::ffff:1.1.1.1',
    '::ffff:10.0.0.1',
    '64:ff9b::a00:1',
    'fe80::1',
    'fd00::1',
    'ff02::1',
    '2001::1',
    '2001:db8::1',
    '2002:a00:1::1',
    'example.org'
  ])
    t.notOk(isPublic(address), address)
})

t.test('deliveries never use private addresses of a name, even beside public ones', async t => {
  const queries: string[] = []
  const answers = [
    { address: '10.0.0.1', family: 4 },
    { address: '1.1.1.1', family: 4 },
    { address: '::1', family: 6 }
  ]
  const lookup = lookupPublic((name, _, done) => {
    queries.push(name)
    done(null, answers)
  })

  t.same(await resolveWith(lookup, 'a.example', true), [{ address: '1.1.1.1', family: 4 }])
  t.same(await resolveWith(lookup, 'a.example', false), '1.1.1.1')
  answers.splice(0, 2)
  await t.rejects(resolveWith(lookup, 'b.example', true), {
    message: 'b.example has no public address; see allow_private'
  })
  t.same(queries, ['a.example', 'a.example', 'b.example'], 'one lookup per connection')
})

const resolveWith = (lookup: LookupFunction, name: string, all: boolean): Promise<unknown> =>
  new Promise((resolve, reject) =>
    lookup(name, { all }, (error, found) => (error ? reject(error) : resolve(found)))
  )

t.test('without allow_private there is no connection to this machine, by address or by name', async t => {
  const listener = createServer(() => t.fail('a connection was made'))
  listener.listen(0, '127.0.0.1')
  await once(listener, 'listening')
  t.teardown(() => listener.close())
  const { port } = listener.address() as { port: number }
  for (const host of ['127.0.0.1', '[::ffff:127.0.0.1]', 'localhost', '2130706433']) {
    const fixture = await webhooksFixture(t, {
      endpoint: { url: `https://${host}:${port}/`, allow_private: false }
    })
    const error = host === 'localhost' ? /has no public address/ : /is not a public address/
    t.match(await test(fixture), { delivered: false, status: null, error }, host)
    await fixture.stop()
  }
  const control = connect(port, '127.0.0.1')
  listener.removeAllListeners('connection')
  await once(control, 'connect')
  control.destroy()
})

t.test('a test event is sent at once, and its result is returned', async t => {
  const fixture = await webhooksFixture(t)

  t.match(await test(fixture), { delivered: true, status: 200, error: null, took_ms: 0 })

  t.match(fixture.hook.received[0], { path: '/hook', json: { event: 'webhook.test', data: {} } })
  t.match(fixture.decisions.at(-1), {
    action: 'webhook.test',
    resourceKind: 'webhook',
    resourceId: 'ops',
    status: 200
  })
  t.match(await fixture.call('POST', '/v1/webhooks/nobody/test'), {
    status: 404,
    body: { error: { code: 'webhook_not_found' } }
  })
})

t.test('a certificate that this machine does not trust is refused', async t => {
  const certificate = await makeCertificate(['localhost'])
  const before = getCACertificates('default')
  t.teardown(() => setDefaultCACertificates(before))
  const fixture = await webhooksFixture(t, { hook: await openReceiver(t, certificate) })
  t.match(await test(fixture), { delivered: false, status: null, error: /self-signed/ })
  t.equal(fixture.hook.received.length, 0)

  setDefaultCACertificates([certificate.cert])

  t.match(await test(fixture), { delivered: true, status: 200 })
})

t.test('a redirect counts as a failure and is not followed', async t => {
  const fixture = await webhooksFixture(t)
  fixture.hook.answer(307)

  t.match(await test(fixture), {
    delivered: false,
    status: 307,
    error: 'response status 307; redirects are not followed'
  })
  t.equal(fixture.hook.received.length, 1)
})

t.test('an endless response body is cut off', async t => {
  const fixture = await webhooksFixture(t)
  const cut = Promise.withResolvers<void>()
  fixture.hook.answer(response => {
    response.once('close', cut.resolve)
    const more = (): void => {
      while (response.write('x'.repeat(4096)));
      response.once('drain', more)
    }
    more()
  })

  t.match(await test(fixture), { delivered: true, status: 200 })
  await cut.promise
})

t.test('an attempt without a response times out after 10 s', async t => {
  const fixture = await webhooksFixture(t)
  fixture.hook.answer(() => {})
  const tested = test(fixture)
  await fixture.hook.until(1)

  await fixture.clock.advance(10_000)

  t.match(await tested, { delivered: false, status: null, error: 'no answer within 10 s', took_ms: 10_000 })
})

t.test('only superadmins may see endpoints, and they see only the host of the URL', async t => {
  const fixture = await webhooksFixture(t)
  const { body } = await fixture.call('GET', '/v1/webhooks')
  t.match(body, [{ name: 'ops', host: `127.0.0.1:${fixture.hook.port}` }])
  t.notMatch(JSON.stringify([body, fixture.log]), /\/hook|whsec_/)
  const ann = await fixture.user('ann')
  for (const [method, path] of [
    ['GET', ''],
    ['POST', '/ops/test'],
    ['GET', '/dead-letters'],
    ['DELETE', '/dead-letters/x'],
    ['POST', '/dead-letters/x/retry']
  ] as const) {
    const { status } = await fixture.call(method, `/v1/webhooks${path}`, undefined, ann)
    t.equal(status, 403, path)
  }
})

t.test(
  'the server refuses to start with an invalid endpoint, and the error does not contain the secret',
  async t => {
    const dir = t.testdir({ data: {} })
    const file = join(dir, 'key')
    writeFileSync(file, secret, { mode: 0o600 })
    const open = join(dir, 'open')
    writeFileSync(open, secret)
    chmodSync(open, 0o644)
    const good = { name: 'ops', url: 'https://example.org/', secret_file: file }
    const { secret_file: _, ...bare } = good
    for (const [endpoints, message] of [
      [[good, good], /two endpoints are named ops/],
      [[bare], /ops needs either secret_file or secret_env/],
      [[{ ...good, secret_env: 'PATH' }], /ops needs either/],
      [
        [{ ...bare, secret_env: 'NO_SUCH_VARIABLE' }],
        /secret of endpoint ops must have at least 24 bytes.*variable NO_SUCH_VARIABLE has 0/
      ],
      [[{ ...good, secret_file: open }], /other users can read .*chmod 600/],
      [[{ ...good, url: 'http://example.org/' }], /url of endpoint ops must be https/],
      [[{ ...good, url: `https://me:${secret}@example.org/` }], /contains a user name or password/],
      [[{ ...good, url: 'https://' }], /is not a valid URL/],
      [[{ ...good, events: ['rule.unknown'] }], /endpoints\.0\.events\.0/],
      [[{ ...good, secret }], /unknown key plugins\.webhooks\.endpoints\.0\.secret/]
    ] as const) {
      const error = await startServer(t, join(dir, 'data'), endpoints).catch((error: unknown) => error)
      t.match(error, { message }, String(message))
      t.notMatch(inspect(error, { depth: null, showHidden: true }), secret, `${message}: the secret`)
    }
  }
)

const startServer = (t: Test, dir: string, endpoints: readonly object[]) =>
  testServer(t, { plugins: [...plugins, plugin], sections: { webhooks: { endpoints } }, dir })
