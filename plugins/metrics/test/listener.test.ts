import { once } from 'node:events'
import { createServer } from 'node:http'
import { type AddressInfo, connect } from 'node:net'
import { Readable } from 'node:stream'
import t from 'tap'
import { User } from '../../../kernel/identity/entities.ts'
import { type Metric, metricsSlot } from '../../../kernel/metrics.ts'
import { definePlugin } from '../../../kernel/plugin.ts'
import { fakeClock } from '../../../kit/fake-clock.ts'
import { operatorToken, recordLog, type TestServer, testServer } from '../../../kit/test-server.ts'
import { readExposition } from '../../../test/support/exposition.ts'
import { openListener } from '../listener.ts'

const listenerOrigin = ({ log }: TestServer): string => {
  const port = log.find(({ event }) => event === 'metrics.listening')?.fields['port']
  return `http://127.0.0.1:${port}`
}

const pluginWithMetric = (name: string, value: () => number, metric: Partial<Metric> = {}) =>
  definePlugin({
    name,
    version: '1.0.0',
    kernel: '^2.0.0',
    fills: [
      metricsSlot.fill(async () => [
        {
          name: `svc_${name}`,
          type: 'gauge',
          help: 'Metric of a test.',
          labels: [],
          samples: [{ labelValues: [], value: value() }],
          ...metric
        }
      ])
    ]
  })

t.test('/metrics needs no authentication, and nothing else is served', async t => {
  const origin = listenerOrigin(await testServer(t, { plugins: ['metrics', pluginWithMetric('x', () => 7)] }))

  const reply = await fetch(`${origin}/metrics?x=1`)

  t.equal(reply.status, 200)
  t.equal(reply.headers.get('content-type'), 'text/plain; version=0.0.4; charset=utf-8')
  const families = readExposition(await reply.text())
  t.equal(families.get('svc_x')?.series.get(''), 7)
  t.ok(families.has('process_cpu_seconds_total'), 'process metrics')
  t.ok(families.has('nodejs_eventloop_lag_seconds'), 'Node metrics')
  const head = await fetch(`${origin}/metrics`, { method: 'HEAD' })
  t.same([head.status, await head.text()], [200, ''])
  t.equal((await fetch(`${origin}/metrics`, { method: 'POST' })).status, 405)
  t.equal((await fetch(`${origin}/v1/users`)).status, 404)
})

t.test('GET /v1/metrics requires a superadmin', async t => {
  const { call, server } = await testServer(t, {
    plugins: ['metrics', 'users', 'credentials', pluginWithMetric('x', () => 7)]
  })
  await server
    .depsOf('metrics')
    .store.change(em =>
      em.insert(User, { id: 'root', displayName: 'r', role: 'superadmin', disabled: false, createdAt: 0 })
    )
  await call('POST', '/v1/users', { user_id: 'ann', display_name: 'Ann' })
  const { body } = await call<{ token: string }>('POST', '/v1/users/ann/credentials', {})
  const requestMetrics = (token: string) =>
    server.http.app.inject({ url: '/v1/metrics', headers: { authorization: `Bearer ${token}` } })

  const reply = await requestMetrics(operatorToken)

  t.match(reply.headers['content-type'], /^text\/plain/)
  t.equal(readExposition(reply.body).get('svc_x')?.series.get(''), 7)
  t.match((await requestMetrics(body.token)).json(), { error: { code: 'role_required' } })
  t.match((await requestMetrics('wrong')).json(), { error: { code: 'unauthenticated' } })
})

t.test('failing metrics of one plugin do not affect the others', async t => {
  const failing = pluginWithMetric('x', () => {
    throw new Error('collect failed')
  })
  const app = await testServer(t, { plugins: ['metrics', failing, pluginWithMetric('y', () => 1)] })

  const families = readExposition(await (await fetch(`${listenerOrigin(app)}/metrics`)).text())

  t.same([families.has('svc_x'), families.has('svc_y')], [false, true])
  t.match(
    app.log.filter(({ event }) => event === 'metrics.collect_failed'),
    [{ fields: { plugin: 'x' } }]
  )
})

t.test('two plugins may share a metric if its type and labels are the same', async t => {
  const shared = (by: string) => ({
    name: 'svc_shared',
    labels: ['by'],
    samples: [{ labelValues: [by], value: 1 }]
  })
  const app = await testServer(t, {
    plugins: [
      'metrics',
      pluginWithMetric('x', () => 1, shared('x')),
      pluginWithMetric('other', () => 1),
      pluginWithMetric('y', () => 1, shared('y')),
      pluginWithMetric('z-other-type', () => 1, { ...shared('z'), type: 'counter' }),
      pluginWithMetric('invalid-name', () => 1, { name: 'svc-shared' })
    ]
  })

  const families = readExposition(await (await fetch(`${listenerOrigin(app)}/metrics`)).text())

  t.same([...(families.get('svc_shared')?.series.keys() ?? [])], ['by="x"', 'by="y"'])
  t.same(
    app.log.filter(({ event }) => event === 'metrics.collect_failed').map(({ fields }) => fields['plugin']),
    ['invalid-name', 'z-other-type']
  )
})

t.test('a port in use stops the start and names the configuration key', async t => {
  const other = createServer().listen(0, '127.0.0.1')
  await once(other, 'listening')
  t.teardown(() => other.close())
  const { port } = other.address() as AddressInfo

  await t.rejects(testServer(t, { plugins: ['metrics'], keys: { metrics_listen: `127.0.0.1:${port}` } }), {
    errorCode: { code: 'startup.listen_failed', exit: 78 },
    message: /^metrics_listen 127\.0\.0\.1:\d+: .*EADDRINUSE/
  })
})

t.test('a connection is closed if the scraper reads nothing for 30 s', async t => {
  const clock = fakeClock()
  const scrape = async () => Readable.from([Buffer.alloc(16 * 2 ** 20)]) // more than socket buffers hold
  const { port, close } = await openListener({
    clock,
    log: recordLog([]),
    listen: '127.0.0.1:0',
    isKnownHost: () => true,
    scrape
  })
  t.teardown(close)
  const socket = connect(port, '127.0.0.1').on('error', () => {}) // the listener resets it
  t.teardown(() => socket.destroy())
  socket.write('GET /metrics HTTP/1.1\r\nhost: localhost\r\n\r\n')
  await once(socket, 'readable')

  await clock.advance(40_000)

  await once(socket.resume(), 'close')
  t.ok(socket.bytesRead < 16 * 2 ** 20)
})

t.test('one of 64 silent scrapers is closed to make room for the next', async t => {
  const scrape = async () => Readable.from([Buffer.from('svc_x 1\n')])
  const listen = '127.0.0.1:0'
  const { port, close } = await openListener({
    clock: fakeClock(),
    log: recordLog([]),
    listen,
    isKnownHost: () => true,
    scrape
  })
  t.teardown(close)
  const silent = Array.from({ length: 64 }, () => connect(port, '127.0.0.1').on('error', () => {}))
  for (const socket of silent) t.teardown(() => socket.destroy())
  await Promise.all(silent.map(socket => once(socket, 'connect')))

  t.equal(await (await fetch(`http://127.0.0.1:${port}/metrics`)).text(), 'svc_x 1\n')
})

t.test('the listener closes with the server', async t => {
  const app = await testServer(t, { plugins: ['metrics'] })
  const origin = listenerOrigin(app)
  await (await fetch(`${origin}/metrics`)).text()

  await app.stop()

  await t.rejects(fetch(`${origin}/metrics`))
})
