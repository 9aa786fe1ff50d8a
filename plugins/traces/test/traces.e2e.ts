// A real server and a real agent as separate processes, with a collector.
import t from 'tap'
import { freePort } from '../../../test/support/ports.ts'
import { startAgent, testCluster, token } from '../../../test/support/test-cluster.ts'
import { openReceiver } from '../../notify/test/fixture.ts'

const traceId = '4bf92f3577b34da6a3ce929d0e0e4736'

t.test('the trace of a caller reaches the log of the agent, and its part is drawn in it', async t => {
  const collector = await openReceiver(t)
  const cluster = await testCluster(t, {}, `otlp_endpoint = "${collector.url}"\notlp_ratio = 0\n`)
  const edge = await startAgent(t, cluster, 'paris')
  const opened = edge.agent.until('rule.opened')
  const reply = await fetch(`${cluster.origin}/v1/rules`, {
    method: 'POST',
    headers: {
      authorization: `Bearer ${token}`,
      'content-type': 'application/json',
      traceparent: `00-${traceId}-00f067aa0ba902b7-01`
    },
    body: JSON.stringify({
      client: 'paris',
      listen_port: await freePort(),
      targets: [{ host: '127.0.0.1', port: 9 }]
    })
  })

  t.equal(reply.status, 201)
  t.match(await opened, { trace_id: traceId })
  const { text } = await collector.until(1)
  const { resource, scopeSpans } = JSON.parse(text).resourceSpans[0]
  t.match(resource.attributes[0], { key: 'service.name', value: { stringValue: 'sluice' } })
  const spans: { name: string; spanId: string; parentSpanId: string; traceId: string }[] = scopeSpans[0].spans
  const [push, handled] = ['sluice.rules.RulePush', 'handle'].map(name =>
    spans.find(span => span.name === name)
  )
  t.equal(handled?.parentSpanId, push?.spanId)
  t.ok(spans.every(span => span.traceId === traceId))

  cluster.configure('')
  cluster.server.signal('SIGHUP')
  await cluster.server.until('server.reloaded')
  t.equal((await fetch(`${cluster.origin}/livez`)).status, 200)
})
