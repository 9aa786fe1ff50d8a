import t from 'tap'
import { testServer } from '../../../kit/test-server.ts'
import type { Readiness } from '../readiness.ts'

interface Ready {
  readonly status: string
  readonly checks: Readonly<Record<string, { readonly status: string; readonly reason: string }>>
}
const dayMs = 86_400_000

t.test('/livez and /readyz answer without a credential, on the API and on the metrics listener', async t => {
  const app = await testServer(t, { plugins: ['metrics'] })
  const port = app.log.find(({ event }) => event === 'metrics.listening')?.fields['port']
  const anonymous = { authorization: '' }

  for (const origin of [app.server.origin, `http://127.0.0.1:${port}`]) {
    const live = await fetch(`${origin}/livez`)
    const alive = { status: 'live', checks: { process: { status: 'ok', reason: 'it answers' } } }
    t.same([live.status, await live.json()], [200, alive], origin)
    const ready = await fetch(`${origin}/readyz?verbose`)
    t.equal(
      ready.status,
      origin === app.server.origin ? 400 : 200,
      'the API refuses a parameter that it does not have'
    )
    t.equal((await fetch(`${origin}/readyz`, { method: 'POST' })).status, 405)
    t.equal((await fetch(`${origin}/readyz`, { method: 'HEAD' })).status, 200)
  }
  const { status, headers, body } = await app.call<Ready>('GET', '/readyz', undefined, anonymous)
  t.equal(status, 200)
  t.match(headers['content-type'], 'application/json')
  t.equal(headers['cache-control'], 'no-store')
  t.equal(body.status, 'ready')
  t.same(
    Object.entries(body.checks).map(([name, { status }]) => [name, status]),
    ['store', 'migrations', 'control_stream', 'certificate'].map(name => [name, 'ok'])
  )
  t.notMatch(JSON.stringify(body), app.dir, 'no path')
  t.equal(app.decisions.length, 0)
  const page = await (await fetch(`http://127.0.0.1:${port}/metrics`)).text()
  const [, expiry] =
    /^svc_certificate_expiry_timestamp_seconds\{certificate="control"\} (\d+)$/m.exec(page) ?? []
  t.ok(Number(expiry) * 1000 > Date.now())
})

t.test('an expired certificate makes the server not ready, with the reason', async t => {
  const app = await testServer(t, { plugins: ['metrics'] })
  app.clock.step(100 * 365 * dayMs)
  await app.clock.advance(1000)

  const { status, body } = await app.call<Ready>('GET', '/readyz')

  t.equal(status, 503)
  t.match(body, { status: 'not_ready', checks: { certificate: { status: 'failed', reason: /has expired/ } } })
  t.equal((await app.call('GET', '/livez')).status, 200)
})

t.test('a stopping server answers not ready at once, even within the cached second', async t => {
  const app = await testServer(t, { plugins: ['metrics'] })
  const { readiness } = app.server.depsOf('metrics') as unknown as { readonly readiness: Readiness }
  t.equal((await readiness()).status, 200)

  await app.stop()

  const { status, body } = await readiness()
  t.equal(status, 503)
  t.match(JSON.parse(body), { status: 'not_ready', checks: { stopping: { status: 'failed' } } })
})

t.test('callers within a second share one check of the store', async t => {
  const app = await testServer(t, { plugins: ['metrics'] })
  await app.call('GET', '/readyz')
  app.clock.step(100 * 365 * dayMs)

  t.equal((await app.call('GET', '/readyz')).status, 200)
  await app.clock.advance(1000)
  t.equal((await app.call('GET', '/readyz')).status, 503)
})
