// Committed usage against the size of a quota.
import t from 'tap'
import { minute, noon, row } from '../../stats/test/fixture.ts'
import { openMetrics } from '../metrics.ts'
import { quotaFixture, supportingAgent } from './fixture.ts'

t.test('bytes delivered after the quota was created count, earlier ones do not', async t => {
  const { put, use, status, clock } = await quotaFixture(t)
  await use(400, 1)
  await clock.advance(1000)

  await put({ monthly_bytes: 1000 })
  t.match(await status(), { bytes_used: 0 })
  await use(700, 2)

  t.match(await status(), { bytes_used: 300, bytes_remaining: 700, exhausted: false })
})

t.test(
  'minutes that ended before the quota was created do not count, however late they are reported',
  async t => {
    const { put, report, connected, clientId, ruleId, status, clock } = await quotaFixture(t)
    await clock.advance(180_000)
    const agent = await connected(clientId, supportingAgent)
    await put({ monthly_bytes: 1000 })

    const minutes = [0, 60, 120, 180].map(secs => String(Number(minute) + secs))
    await report(agent, { rows: minutes.map(key => row(ruleId, 'minute', key, { bytes_out: 1 })) })
    await report(agent, {
      seq: 2,
      rows: [row(ruleId, 'hour', String(Number(minute) - 7200), { bytes_out: 100 })]
    })

    t.match(await status(), { bytes_used: 1 })
  }
)

t.test('a quota is exhausted from the moment when its last byte is committed', async t => {
  const { put, use, status, log } = await quotaFixture(t)
  await put({ monthly_bytes: 1000 })

  await use(999, 1)
  t.match(await status(), { exhausted: false, exhausted_at: null })
  await use(1000, 2)
  const spent = await status()
  await use(1500, 3)

  t.match(spent, { exhausted: true, exhausted_at: Math.floor((noon + 500) / 1000), bytes_remaining: 0 })
  t.match(await status(), { ...spent, bytes_used: 1500 })
  t.equal(log.filter(({ event }) => event === 'traffic_quota.exhausted').length, 1)
})

t.test('a size above the usage ends exhaustion, a size at or below the usage begins it', async t => {
  const { put, patch, use, status } = await quotaFixture(t)
  await put({ monthly_bytes: 1000 })
  await use(1000, 1)

  for (const [change, exhausted] of [
    [() => put({ monthly_bytes: 1001 }), false],
    [() => patch({ monthly_bytes: 1000 }), true],
    [() => patch({ monthly_bytes: 5000 }), false],
    [() => put({ monthly_bytes: 0 }), true]
  ] as const) {
    const { body } = await change()
    t.match(body, { exhausted, exhausted_at: exhausted ? Number : null, bytes_used: 1000 })
    t.match(await status(), { exhausted })
  }
})

t.test('a size of 0 is valid and exhausted at once', async t => {
  const { put } = await quotaFixture(t)

  t.match(await put({ monthly_bytes: 0 }), { status: 200, body: { exhausted: true, bytes_remaining: 0 } })
})

t.test('clearing usage reopens an exhausted quota; its period and the ledger stay', async t => {
  const { put, patch, use, status, stats, ruleId } = await quotaFixture(t)
  await put({ monthly_bytes: 1000 })
  await use(1200, 1)
  const before = await status()

  const { body } = await patch({ clear_period_usage: true })

  t.match(before, { exhausted: true })
  t.match(body, { exhausted: false, exhausted_at: null, bytes_used: 0, bytes_remaining: 1000 })
  t.equal(body.period_start, before.period_start)
  t.equal(body.period_end, before.period_end)
  t.match(await stats(ruleId), { bytes_in: 1200 })
  await use(1300, 2)
  t.match(await status(), { bytes_used: 100 })
  t.match(await patch({ clear_period_usage: false }), { body: { bytes_used: 100 } })
})

t.test('a new month resets usage, credit and exhaustion, also without a request', async t => {
  const { put, patch, report, connected, clientId, ruleId, status, clock, use } = await quotaFixture(t)
  const end = noon / 1000 + 600
  await put({ monthly_bytes: 1000, billing_anchor: Date.UTC(2025, 11, 15, 12, 10) / 1000 })
  await use(1000, 1)
  await patch({ clear_period_usage: true })
  await use(2000, 2)
  t.match(await status(), { bytes_used: 1000, exhausted: true })

  await clock.advance(600_000)
  t.match(await status(), { bytes_used: 0, exhausted: false, period_start: end })

  await report(await connected(clientId, supportingAgent), {
    seq: 3,
    rows: [
      row(ruleId, 'minute', String(end - 60), { bytes_in: 500 }),
      row(ruleId, 'minute', String(end), { bytes_in: 7 })
    ]
  })
  t.match(await status(), { bytes_used: 7, exhausted: false })
})

t.test('all rules of the user on the client count, no others', async t => {
  const { put, push, report, agent, ruleId, status, clientId, edge } = await quotaFixture(t)
  await put({ monthly_bytes: 1000 })
  const second = await push({ client: clientId, listen_port: 81, owner: 'ann' })
  const others = await push({ client: clientId, listen_port: 82 })
  const elsewhere = await edge('elsewhere')

  await report(agent, {
    rows: [ruleId, second.body.rule_id, others.body.rule_id].map((id, i) =>
      row(id, 'minute', minute, { bytes_in: 10 ** i, bytes_out: 10 ** i })
    )
  })
  await report(elsewhere.agent, {
    epoch: 'c'.repeat(32),
    rows: [row(elsewhere.ruleId, 'minute', minute, { bytes_in: 7 })]
  })

  t.match(await status(), { bytes_used: 22 })
})

t.test('a quota that is created again begins without usage', async t => {
  const { put, use, status, call, clientId } = await quotaFixture(t)
  await put({ monthly_bytes: 1000 })
  await use(800, 1)

  await call('DELETE', `/v1/users/ann/quotas/${clientId}`)
  await put({ monthly_bytes: 1000 })

  t.match(await status(), { bytes_used: 0 })
})

t.test('a quota has metrics from PUT to DELETE', async t => {
  const { put, use, call, clientId, server } = await quotaFixture(t)
  const gauges = async () => {
    const metrics = await openMetrics(server.depsOf('quota'))()
    return metrics.map(({ name, samples }) => [name, ...samples])
  }
  t.same(await gauges(), [
    ['svc_traffic_quota_exhausted'],
    ['svc_traffic_quota_bytes_used'],
    ['svc_traffic_quota_bytes_limit']
  ])

  await put({ monthly_bytes: 1000 })
  await use(1000, 1)
  const labelValues = ['ann', clientId]
  t.same(await gauges(), [
    ['svc_traffic_quota_exhausted', { labelValues, value: 1 }],
    ['svc_traffic_quota_bytes_used', { labelValues, value: 1000 }],
    ['svc_traffic_quota_bytes_limit', { labelValues, value: 1000 }]
  ])

  await call('DELETE', `/v1/users/ann/quotas/${clientId}`)
  t.match(await gauges(), [{ length: 1 }, { length: 1 }, { length: 1 }])
})
