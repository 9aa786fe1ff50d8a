// Traces of a server in this process, and a real collector on loopback.
import t, { type Test } from 'tap'
import { notifyFixture, openReceiver, type ReceivedRequest, secretFile } from '../../notify/test/fixture.ts'
import { rulesFixture } from '../../rules/test/fixture.ts'
import type { RecordedSpan } from '../otlp-json.ts'
import manifest from '../plugin.ts'
import { SpanQueue } from '../span-queue.ts'

const traceId = '4bf92f3577b34da6a3ce929d0e0e4736'
const callersSpan = '00f067aa0ba902b7'
const sampled = { traceparent: `00-${traceId}-${callersSpan}-01` }
const plugins = ['users', 'clients', 'rules', 'metrics', 'traces']

interface OtlpSpan {
  readonly traceId: string
  readonly spanId: string
  readonly parentSpanId?: string
  readonly name: string
  readonly kind: number
  readonly startTimeUnixNano: string
  readonly endTimeUnixNano: string
  readonly attributes: readonly { readonly key: string; readonly value: object }[]
  readonly status?: { readonly code: number }
}

const spansIn = ({ text }: ReceivedRequest): OtlpSpan[] =>
  JSON.parse(text).resourceSpans[0].scopeSpans[0].spans

async function tracesFixture(t: Test, ratio = 1) {
  const collector = await openReceiver(t)
  const keys = { otlp_endpoint: `${collector.url}/collect/`, otlp_ratio: ratio }
  const app = await rulesFixture(t, { plugins, keys })
  const counts = async () => {
    const text = (await app.server.depsOf('traces').metrics()).map(({ value }) => value())
    const families = (await Promise.all(text)).flat()
    const family = families.find(({ name }) => name === 'svc_otlp_spans_total')
    return Object.fromEntries(
      [...(family?.samples ?? [])].map(sample => [sample.labelValues[0], sample.value])
    )
  }
  return { app, collector, counts, failures: () => app.log.filter(({ event }) => event === 'traces.failed') }
}

t.test('a change is one trace, from the caller to the agent', async t => {
  const { app, collector, counts } = await tracesFixture(t)
  const edge = await app.enroll()
  await app.connect(edge)
  const pushed = await app.call('POST', '/v1/rules', { client: 'edge', listen_port: 8080, targets }, sampled)
  t.equal(pushed.status, 201)
  await app.clock.advance(5_000)

  const request = await collector.until(1)
  t.match(request, {
    method: 'POST',
    path: '/collect/v1/traces',
    headers: { 'content-type': 'application/json' }
  })
  const spans = spansIn(request)
  const named = (name: string): OtlpSpan => spans.find(span => span.name === name) as OtlpSpan
  const [server, transaction, push] = ['POST /v1/rules', 'transaction', 'sluice.rules.RulePush'].map(named)
  t.ok(spans.every(span => span.traceId === traceId))
  t.match(server, { parentSpanId: callersSpan, kind: 2 })
  t.match(server?.attributes, [
    { key: 'http.request.method', value: { stringValue: 'POST' } },
    { key: 'http.route', value: { stringValue: '/v1/rules' } },
    { key: 'http.response.status_code', value: { intValue: '201' } },
    { key: 'sluice.request_id', value: { stringValue: String } }
  ])
  t.match(transaction, { parentSpanId: server?.spanId, kind: 1 })
  t.match(push, { parentSpanId: transaction?.spanId, kind: 1 })
  for (const { startTimeUnixNano, endTimeUnixNano } of spans)
    t.ok(BigInt(endTimeUnixNano) >= BigInt(startTimeUnixNano))
  t.notMatch(request.text, /10\.0\.0\.1|127\.0\.0\.1/, 'no address of a caller or target')
  t.match(request.text, /"service\.name"/)
  t.same(await counts(), { sent: spans.length, failed: 0, dropped: 0 })
})

const targets = [{ host: '10.0.0.1', port: 80 }]

t.test('an error has its code, and only a fault of the server is marked as one', async t => {
  const { app, collector } = await tracesFixture(t)
  await app.call('GET', '/v1/rules/01HZY5J3M0000000000000000A', undefined, sampled)
  await app.clock.advance(5_000)

  const [span] = spansIn(await collector.until(1))
  t.match(span?.attributes.at(-1), { key: 'error.type', value: { stringValue: 'rule_not_found' } })
  t.equal(span?.status, undefined)
})

t.test('a caller decides for its trace; the ratio decides for others', async t => {
  const { app, collector } = await tracesFixture(t, 0)
  await app.call('GET', '/v1/clients')
  await app.call('GET', '/v1/users', undefined, { traceparent: `00-${traceId}-${callersSpan}-00` })
  await app.call('GET', '/v1/rules', undefined, sampled)
  await app.clock.advance(5_000)

  t.same(
    spansIn(await collector.until(1)).map(({ name }) => name),
    ['GET /v1/rules']
  )
})

t.test('health checks have no span', async t => {
  const { app, collector } = await tracesFixture(t)
  await app.call('GET', '/livez', undefined, { authorization: '' })
  await app.call('GET', '/v1/clients')
  await app.clock.advance(5_000)

  t.same(
    spansIn(await collector.until(1)).map(({ name }) => name),
    ['GET /v1/clients']
  )
})

t.test('while the collector is away, spans wait and are sent again', async t => {
  const { app, collector, counts, failures } = await tracesFixture(t)
  collector.answer(503)
  await app.call('GET', '/v1/clients')
  await app.clock.advance(5_000)
  const first = await collector.until(1)
  while (failures().length === 0) await new Promise(setImmediate)
  collector.answer(200)
  await app.clock.advance(1_000)

  t.equal((await collector.until(2)).text, first.text)
  t.match(failures(), [{ level: 'warn', fields: { error: 'response status 503' } }])
  while ((await counts())['sent'] !== 1) await new Promise(setImmediate)
  t.match(await counts(), { sent: 1, failed: 0 })
})

t.test('spans that the collector refuses are not sent again', async t => {
  const { app, collector, counts } = await tracesFixture(t)
  collector.answer(400)
  await app.call('GET', '/v1/clients')
  await app.clock.advance(5_000)
  await collector.until(1)
  while ((await counts())['failed'] !== 1) await new Promise(setImmediate)
  await app.clock.advance(60_000)

  t.equal(collector.received.length, 1)
})

t.test('a stop sends what waits', async t => {
  const { app, collector } = await tracesFixture(t)
  await app.call('GET', '/v1/clients')
  await app.stop()

  t.equal(collector.received.length, 1)
})

t.test('without an endpoint nothing is traced, and a traceparent is still passed on', async t => {
  const app = await rulesFixture(t, { plugins })
  await app.call('GET', '/v1/clients', undefined, sampled)

  t.match(
    app.log.filter(({ event }) => event === 'request.traced'),
    [{ fields: { trace_id: traceId } }]
  )
})

t.test('a webhook has a trace of its own, which its receiver gets', async t => {
  const collector = await openReceiver(t)
  const hook = await openReceiver(t)
  const app = await notifyFixture(t, {
    plugins: [...plugins, 'notify'],
    keys: { otlp_endpoint: collector.url, otlp_ratio: 1 },
    section: { channels: { ops: { type: 'webhook', url: hook.url, secret_file: secretFile(t) } } }
  })
  await app.raise({ object: 'a', kind: 'edge_away' })
  await app.clock.advance(40_000)
  const { traceparent } = (await hook.until(1)).headers
  await app.settled(({ waiting }) => waiting === 0)
  await app.clock.advance(5_000)

  await collector.until(1)
  const spans = collector.received.flatMap(spansIn)
  const span = spans.find(({ name }) => name === 'notification webhook')
  t.equal(traceparent, `00-${span?.traceId}-${span?.spanId}-01`)
  t.match(span?.attributes[0], { key: 'sluice.channel', value: { stringValue: 'ops' } })
})

t.test('an endpoint that cannot be used is refused, with its key and the remedy', async t => {
  for (const [otlp_endpoint, message] of [
    ['127.0.0.1:4318', /^otlp_endpoint must be a URL that begins with http/],
    ['http://user:secret@host', /^otlp_endpoint must not contain a user or a password/],
    ['http://host/?a=b', /^otlp_endpoint must end with the path/]
  ] as const)
    t.throws(() => manifest.checkConfig?.({ otlp_endpoint, otlp_ratio: 1 }, []), { message })
})

t.test('the payer with the most spans loses its oldest', async t => {
  let dropped = 0
  const queue = new SpanQueue(() => dropped++, 4)
  const span = (name: string, payer: string): RecordedSpan => ({ name, payer }) as RecordedSpan
  queue.add(span('quiet 1', 'quiet'))
  for (let at = 1; at <= 6; at++) queue.add(span(`noisy ${at}`, 'noisy'))

  t.equal(dropped, 3)
  t.same(
    queue.take(3).map(({ name }) => name),
    ['quiet 1', 'noisy 4', 'noisy 5']
  )
  t.equal(queue.size, 1)
})
