// The reports of an agent with a valid token cannot harm other clients.
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { type ReportRow, StatsReport, messages as statsMessages } from '../../agent/wire/journal-report.ts'
import { connectAgent } from '../../kit/scripted-agent.ts'
import { Health, messages as healthMessages } from '../../plugins/multi-target/wire.ts'
import { messages as limitMessages, Throttled } from '../../plugins/rate-limit/wire.ts'
import { ruleResponses } from '../../plugins/rules/test/fixture.ts'
import { messages as ruleMessages } from '../../plugins/rules/wire.ts'
import { Peeks, messages as sniMessages } from '../../plugins/sni/wire.ts'
import { epoch, otherEpoch, row } from '../../plugins/stats/test/fixture.ts'
import { freePort } from '../support/ports.ts'
import { startAgent, statsOf, testCluster } from '../support/test-cluster.ts'
import { get, startWebServer } from '../support/web.ts'

const most = Number.MAX_SAFE_INTEGER
const messages = [...ruleMessages, ...statsMessages, ...healthMessages, ...limitMessages, ...sniMessages]

t.test(
  "with a hostile agent's reports the counters of others stay exact, every route answers, and /metrics stays small",
  async t => {
    const cluster = await testCluster(t)
    const { port: metricsPort } = await cluster.server.until('metrics.listening')
    const push = (client: string, listen_port: number, port: number) =>
      cluster.call<{ rule_id: string }>('POST', '/v1/rules', {
        client,
        listen_port,
        targets: [{ host: '127.0.0.1', port }]
      })
    const honest = await startAgent(t, cluster, 'honest')
    const page = await startWebServer(t)
    const port = await freePort()
    const { rule_id: theirs } = await push('honest', port, page)
    await get(`http://127.0.0.1:${port}/`)
    await statsOf(
      cluster,
      theirs,
      ({ bytes_out, active_connections }) => bytes_out > 0 && active_connections === 0
    )
    const hostile = await startAgent(t, cluster, 'hostile')
    hostile.agent.signal('SIGTERM')
    await hostile.agent.exit
    const bundle = JSON.parse(readFileSync(join(hostile.stateDir, 'bundle.json'), 'utf8'))
    const { controlPort, fingerprint } = cluster
    const agent = await connectAgent(t, {
      port: controlPort,
      fingerprint,
      token: bundle.token,
      messages,
      responses: ruleResponses
    })
    const { rule_id: own } = await push('hostile', 20_000, 80)
    const now = Math.floor(Date.now() / 60_000) * 60
    const span = `from=${now - 3600}&to=${now + 3600}&bucket=1m`
    const read = async () => ({
      stats: await cluster.call<object>('GET', `/v1/rules/${theirs}/stats?per_port=true&per_target=true`),
      traffic: await cluster.call<object>('GET', `/v1/clients/${honest.clientId}/traffic?${span}`),
      metrics: (await scrape(Number(metricsPort))).split('\n').filter(line => line.includes(theirs))
    })
    const before = await read()

    const attempts = [theirs, own].flatMap(id => [
      row(id, 'minute', '9999999960', { bytes_in: 1 }),
      row(id, 'minute', String(now), { bytes_in: most, bytes_out: most }),
      row(id, 'hour', '0', { bytes_in: most }),
      row(id, 'port', '1', { bytes_in: most }),
      row(id, 'target', '10.9.8.7:1', { bytes_in: most }),
      row(id, 'target', '127.0.0.1:80', { bytes_in: most, bytes_out: most }),
      row(id, 'rule', '', { connections: most, dns_failures: most, datagrams_in: most }),
      row(id, 'nonsense', '', { connections: most }),
      row(id, 'rejected', 'loop', { rejected: most })
    ])
    const reasons = Array.from({ length: 400 }, (_, i) =>
      row(own, 'rejected', `made-up-${i}`, { rejected: most })
    )
    const report = (of: string, seq: number, rows: readonly ReportRow[]) =>
      agent.channel.request(StatsReport, {
        epoch: of,
        seq,
        part: 0,
        last: true,
        rows: [...rows],
        live: [theirs, own].map(rule_id => ({ rule_id, port, connections: 4_000_000 }))
      })
    for (let i = 0; i < 20; i++)
      agent.channel.send(Throttled, {
        waits: Array.from({ length: 500 }, (_, k) => ({
          scope: k % 2 === 0 ? ('owner' as const) : ('rule' as const),
          id: k === 1 ? theirs : `made-up-${i}-${k}`,
          ms: 1000
        }))
      })
    const time = Date.now() + 2 * 86_400_000
    const target = { state: 'failed' as const, consecutive_failures: 9, last_failure_ms: time }
    agent.channel.send(Health, { rules: [theirs, own].map(rule_id => ({ rule_id, targets: [target] })) })
    agent.channel.send(Peeks, { counts: [9], sum_ms: 1 })
    await report(epoch, 1, [...attempts, ...reasons])
    await report(otherEpoch, 1, attempts)

    t.strictSame(await read(), before)
    const all = await scrape(Number(metricsPort))
    t.ok(all.length < 64 * 1024, `${all.length} characters`)
    t.equal(all.split('\n').filter(line => line.startsWith('svc_rule_rejected_total')).length, 33)
    t.notMatch(all, /made-up-\d+-/)
    const clients = [honest.clientId, hostile.clientId]
    for (const path of [
      '/v1/rules',
      `/v1/rules/${own}`,
      `/v1/rules/${own}/stats?per_port=true&per_target=true`,
      '/v1/stats/summary',
      `/v1/traffic/global?${span}`,
      `/v1/users/_operator/traffic?${span}`,
      '/v1/clients',
      ...clients.flatMap(id => [`/v1/clients/${id}/traffic?${span}`, `/v1/clients/${id}/owners`])
    ])
      await t.resolves(cluster.call('GET', path), path)
    t.match(await cluster.call('GET', '/v1/rules'), [
      { targets: [{ health: { last_failure_at: null } }] },
      { targets: [{ health: { state: 'unknown', last_failure_at: null } }] }
    ])
    t.match(await cluster.server.until('agent.row_refused'), { client: hostile.clientId })
  }
)

const scrape = async (port: number): Promise<string> =>
  (await fetch(`http://127.0.0.1:${port}/metrics`)).text()
