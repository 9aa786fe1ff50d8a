// Whom a hook can reach, and for how long it listens.
import { once } from 'node:events'
import { chmodSync, writeFileSync } from 'node:fs'
import { connect, createServer, type LookupFunction } from 'node:net'
import { join } from 'node:path'
import { getCACertificates, setDefaultCACertificates } from 'node:tls'
import t, { type Test } from 'tap'
import { testServer } from '../../../../kit/test-server.ts'
import { makeCertificate } from '../../../../plugins/control/self-signed.ts'
import { isPublic, lookupPublic } from '../address.ts'
import type { TestRow } from '../schema.ts'
import { sign } from '../signature.ts'
import { receiver } from './receiver.ts'
import { plugin, plugins, secret, type World, world } from './world.ts'

const test = async ({ call }: World) => (await call<TestRow>('POST', '/v1/webhooks/ops/test')).body

t.test('the signature is that of Standard Webhooks', async t => {
  const key = Buffer.from(secret.slice('whsec_'.length), 'base64')
  const signed = { id: 'msg_p5jXN8AQM9LWM0D4loKWxJek', atSecs: 1_614_265_330, body: '{"test": 2432232314}' }

  t.equal(sign(key, signed), 'v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=')
})

t.test('only what is globally reachable is public', async t => {
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

t.test('a name that leads inside is not dialled, whatever else it leads to', async t => {
  const asked: string[] = []
  const answers = [
    { address: '10.0.0.1', family: 4 },
    { address: '1.1.1.1', family: 4 },
    { address: '::1', family: 6 }
  ]
  const lookup = lookupPublic((name, _, done) => {
    asked.push(name)
    done(null, answers)
  })

  t.same(await looked(lookup, 'a.example', true), [{ address: '1.1.1.1', family: 4 }])
  t.same(await looked(lookup, 'a.example', false), '1.1.1.1')
  answers.splice(0, 2)
  await t.rejects(looked(lookup, 'b.example', true), {
    message: 'b.example is at no public address; see allow_private'
  })
  t.same(asked, ['a.example', 'a.example', 'b.example'], 'one question a connection')
})

const looked = (lookup: LookupFunction, name: string, all: boolean): Promise<unknown> =>
  new Promise((resolve, reject) =>
    lookup(name, { all }, (error, found) => (error ? reject(error) : resolve(found)))
  )

t.test('without allow_private nothing on this machine is dialled, by address or by name', async t => {
  const door = createServer(() => t.fail('somebody came in'))
  door.listen(0, '127.0.0.1')
  await once(door, 'listening')
  t.teardown(() => door.close())
  const { port } = door.address() as { port: number }
  for (const host of ['127.0.0.1', '[::ffff:127.0.0.1]', 'localhost', '2130706433']) {
    const on = await world(t, { endpoint: { url: `https://${host}:${port}/`, allow_private: false } })
    t.match(await test(on), { delivered: false, status: null, error: /no public address/ }, host)
    await on.stop()
  }
  const control = connect(port, '127.0.0.1')
  door.removeAllListeners('connection')
  await once(control, 'connect')
  control.destroy()
})

t.test('a test is sent at once, and its answer is told', async t => {
  const on = await world(t)

  t.match(await test(on), { delivered: true, status: 200, error: null, took_ms: 0 })

  t.match(on.hook.got[0], { path: '/hook', json: { event: 'webhook.test', data: {} } })
  t.match(on.decisions.at(-1), {
    action: 'webhook.test',
    resourceKind: 'webhook',
    resourceId: 'ops',
    status: 200
  })
  t.match(await on.call('POST', '/v1/webhooks/nobody/test'), {
    status: 404,
    body: { error: { code: 'webhook_not_found' } }
  })
})

t.test('over TLS only a certificate that this machine trusts will do', async t => {
  const leaf = await makeCertificate(['localhost'])
  const before = getCACertificates('default')
  t.teardown(() => setDefaultCACertificates(before))
  const on = await world(t, { hook: await receiver(t, leaf) })
  t.match(await test(on), { delivered: false, status: null, error: /self-signed/ })
  t.equal(on.hook.got.length, 0)

  setDefaultCACertificates([leaf.cert])

  t.match(await test(on), { delivered: true, status: 200 })
})

t.test('a redirect is an answer like any other that is not 2xx', async t => {
  const on = await world(t)
  on.hook.answer(307)

  t.match(await test(on), {
    delivered: false,
    status: 307,
    error: 'it answered 307; redirects are not followed'
  })
  t.equal(on.hook.got.length, 1)
})

t.test('an answer without an end is not read on', async t => {
  const on = await world(t)
  const cut = Promise.withResolvers<void>()
  on.hook.answer(response => {
    response.once('close', cut.resolve)
    const more = (): void => {
      while (response.write('x'.repeat(4096)));
      response.once('drain', more)
    }
    more()
  })

  t.match(await test(on), { delivered: true, status: 200 })
  await cut.promise
})

t.test('silence ends after 10 s', async t => {
  const on = await world(t)
  on.hook.answer(() => {})
  const tested = test(on)
  await on.hook.until(1)

  await on.clock.advance(10_000)

  t.match(await tested, { delivered: false, status: null, error: 'no answer within 10 s', took_ms: 10_000 })
})

t.test('only superadmins see hooks, and of the address only the host', async t => {
  const on = await world(t)
  const { body } = await on.call('GET', '/v1/webhooks')
  t.match(body, [{ name: 'ops', host: `127.0.0.1:${on.hook.port}` }])
  t.notMatch(JSON.stringify([body, on.log]), /\/hook|whsec_/)
  const ann = await on.user('ann')
  for (const [method, path] of [
    ['GET', ''],
    ['POST', '/ops/test'],
    ['GET', '/dead-letters'],
    ['DELETE', '/dead-letters/x'],
    ['POST', '/dead-letters/x/retry']
  ] as const) {
    const { status } = await on.call(method, `/v1/webhooks${path}`, undefined, ann)
    t.equal(status, 403, path)
  }
})

t.test('an endpoint that cannot work stops the start, and says why without its secret', async t => {
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
      /secret of endpoint ops must have 24 bytes.*variable NO_SUCH_VARIABLE has 0/
    ],
    [[{ ...good, secret_file: open }], /others may read .*chmod 600/],
    [[{ ...good, url: 'http://example.org/' }], /url of endpoint ops must be https/],
    [[{ ...good, url: 'https://me:word@example.org/' }], /holds a credential/],
    [[{ ...good, url: 'https://' }], /cannot be read/],
    [[{ ...good, events: ['rule.fled'] }], /endpoints\.0\.events\.0/],
    [[{ ...good, secret: 'inline' }], /secret is no key/]
  ] as const)
    await t.rejects(begin(t, join(dir, 'data'), endpoints), { message }, String(message))
})

const begin = (t: Test, dir: string, endpoints: readonly object[]) =>
  testServer(t, { plugins: [...plugins, plugin], sections: { webhooks: { endpoints } }, dir })
