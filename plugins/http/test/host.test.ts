import { once } from 'node:events'
import { get, type IncomingMessage } from 'node:http'
import t from 'tap'
import { Type } from 'typebox'
import { defineRoute } from '../../../kernel/http/route.ts'
import type { Kernel } from '../../../kernel/plugin.ts'
import { testServer } from '../../../kit/test-server.ts'
import { openHostCheck } from '../server/host-check.ts'
import { httpFixture, operator } from './fixture.ts'

const status = defineRoute({
  method: 'GET',
  url: '/v1/status',
  action: 'thing.status',
  access: 'public',
  summary: 'Answers.',
  schema: () => ({ reply: Type.String() }),
  run: async (_: Kernel) => 'ok'
})

t.test(
  'a page with a name that resolves to loopback gets nothing from the API, and its write has no effect',
  async t => {
    const { send, decisions } = await httpFixture(t, {
      routes: [status],
      isKnownHost: openHostCheck({})
    })
    const evil = { host: 'evil.example:7080', origin: 'http://evil.example:7080' }

    for (const [method, url] of [
      ['GET', '/v1/status'],
      ['POST', '/v1/status'],
      ['GET', '/'],
      ['GET', '/v1/none']
    ] as const) {
      const { status, body, headers } = await send(method, url, { ...evil, ...operator })
      t.match(
        { status, body },
        { status: 421, body: { error: { code: 'unknown_host' } } },
        `${method} ${url}`
      )
      t.ok(headers['x-request-id'])
    }
    t.same(decisions, [])
  }
)

t.test('a loopback listener knows addresses, localhost, its origin and the configured names', t => {
  const check = openHostCheck({
    operator_http_hosts: ['sluice.internal'],
    operator_http_public_origin: 'https://api.example:8443'
  })
  const isKnown = (host: string | undefined) => check(host, '127.0.0.1')
  const known = ['127.0.0.1', '192.0.2.7:80', '[::1]', '[2001:db8::1]:7080', 'localhost:1', 'LOCALHOST.']

  for (const host of [...known, 'sluice.internal:1', 'api.example', undefined])
    t.ok(isKnown(host), host ?? 'none')
  for (const host of [
    '',
    'evil.example',
    'localhost.evil.example',
    '127.0.0.1.evil.example',
    '1.1',
    '[::1',
    'a:b'
  ])
    t.notOk(isKnown(host), host)
  t.end()
})

t.test('without configured names, only requests to loopback addresses are judged', t => {
  const isKnown = openHostCheck({})

  for (const local of ['127.0.0.1', '::1', '127.1.2.3', '::ffff:127.0.0.1'])
    t.notOk(isKnown('a', local), local)
  for (const local of ['192.0.2.1', '2001:db8::1', '::ffff:192.0.2.1']) t.ok(isKnown('a', local), local)
  t.notOk(openHostCheck({ operator_http_hosts: ['b'] })('a', '192.0.2.1'))
  t.end()
})

t.test('/metrics answers no page with a name that resolves to loopback', async t => {
  const { log } = await testServer(t, {
    plugins: ['metrics'],
    keys: { operator_http_hosts: ['sluice.internal'] }
  })
  const port = Number(log.find(({ event }) => event === 'metrics.listening')?.fields['port'])

  t.equal(await statusOf(port, 'evil.example'), 421)
  t.equal(await statusOf(port, 'sluice.internal'), 200)
  t.equal(await statusOf(port, 'localhost'), 200)
})

t.test('a listener on all addresses answers no name that resolves to loopback', async t => {
  const { log } = await testServer(t, { plugins: ['metrics'], keys: { metrics_listen: '0.0.0.0:0' } })
  const port = Number(log.find(({ event }) => event === 'metrics.listening')?.fields['port'])

  t.equal(await statusOf(port, 'evil.example'), 421)
  t.equal(await statusOf(port, `127.0.0.1:${port}`), 200)
})

/** Requests /metrics with a `Host`, which fetch does not allow. */
async function statusOf(port: number, host: string): Promise<number | undefined> {
  const request = get({ port, host: '127.0.0.1', path: '/metrics', headers: { host } })
  const [response] = (await once(request, 'response')) as [IncomingMessage]
  response.destroy()
  return response.statusCode
}
