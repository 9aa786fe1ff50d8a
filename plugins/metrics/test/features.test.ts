// Metrics of the built-in plugins, as a scraper sees them.
import t from 'tap'
import { noCounts } from '../../../agent/wire/counters.ts'
import { ownVersion } from '../../../kernel/platform/version.ts'
import { operatorToken } from '../../../kit/test-server.ts'
import { readExposition } from '../../../test/support/exposition.ts'
import { recordStatements } from '../../../test/support/record-statements.ts'
import { notOnPostgres } from '../../../test/support/store.ts'
import { Rule } from '../../rules/entities.ts'
import { StatsTotal } from '../../stats/entities.ts'
import { minute, row, statsFixture } from '../../stats/test/fixture.ts'

const plugins = [
  'users',
  'clients',
  'rules',
  'stats',
  'enrollment',
  'advertised-endpoint',
  'audit',
  'metrics'
]

async function metricsFixture(t: Parameters<typeof statsFixture>[0]) {
  const found = await statsFixture(t, { plugins })
  const scrape = async () => {
    const headers = { authorization: `Bearer ${operatorToken}` }
    const families = readExposition(
      (await found.server.http.app.inject({ url: '/v1/metrics', headers })).body
    )
    return {
      families,
      value: (name: string, labels: string) => families.get(name)?.series.get(labels),
      naming: (id: string) =>
        [...families].flatMap(([name, { series }]) =>
          [...series.keys()].some(key => key.includes(id)) ? [name] : []
        )
    }
  }
  return { ...found, scrape }
}

t.test('a client has series from enrollment to deletion, which show whether it is connected', async t => {
  const { enroll, connected, disconnect, call, scrape } = await metricsFixture(t)
  const id = await enroll('ed"ge')
  const client = `client="${id}"`

  t.equal((await scrape()).value('svc_clients_connected', client), 0)
  t.equal((await scrape()).value('svc_client_info', `${client},name="ed\\"ge"`), 1)
  const agent = await connected(id)
  t.equal((await scrape()).value('svc_clients_connected', client), 1)
  await disconnect(agent)
  t.equal((await scrape()).value('svc_clients_connected', client), 0)

  await call('POST', `/v1/clients/${id}/revoke`)
  t.equal((await scrape()).value('svc_clients_connected', client), 0)
  await call('DELETE', `/v1/clients/${id}`)
  t.same((await scrape()).naming(id), [])
})

t.test('a rule has series from its creation to its deletion', async t => {
  const { edge, report, call, scrape } = await metricsFixture(t)
  const { agent, clientId, ruleId } = await edge()
  const of = `client="${clientId}",owner="_operator",rule="${ruleId}"`

  t.equal((await scrape()).value('svc_rule_bytes_total', `${of},direction="in"`), 0)
  await report(agent, {
    rows: [
      row(ruleId, 'minute', minute, { bytes_in: 2 ** 40, bytes_out: 7 }),
      row(ruleId, 'rule', '', { connections: 3, dns_failures: 2, failovers: 1 }),
      row(ruleId, 'rejected', 'target_denied', { rejected: 4 }),
      row(ruleId, 'port', '8080', { bytes_in: 2 ** 40, bytes_out: 7 })
    ],
    live: [{ rule_id: ruleId, port: 8080, connections: 2 }]
  })

  const { value, naming, families } = await scrape()
  t.equal(value('svc_rule_bytes_total', `${of},direction="in"`), 2 ** 40)
  t.equal(value('svc_rule_bytes_total', `${of},direction="out"`), 7)
  t.equal(value('svc_rule_connections_total', of), 3)
  t.equal(value('svc_rule_state', `${of},state="active"`), 1)
  t.equal(value('svc_build_info', `version="${ownVersion()}",node="${process.version}"`), 1)
  t.equal(value('svc_rule_active_connections', of), 2)
  t.equal(value('svc_rule_dns_failures_total', of), 2)
  t.equal(value('svc_rule_target_failovers_total', of), 1)
  t.equal(value('svc_rule_rejected_total', `${of},reason="target_denied"`), 4)
  t.equal(families.get('svc_rule_bytes_total')?.type, 'counter')
  t.equal(families.get('svc_rule_active_connections')?.type, 'gauge')
  const others = [...families].filter(([name]) => name !== 'svc_rule_info')
  t.notOk(others.some(([, { series }]) => [...series.keys()].some(key => key.includes('8080'))))

  const removal = call('DELETE', `/v1/rules/${ruleId}`)
  const removed = await agent.until('sluice.rules.RuleRemove')
  t.equal((await scrape()).value('svc_rule_state', `${of},state="draining"`), 1)
  await removal
  agent.sendRemoved({ kind: 'rule', id: ruleId, revision: Number(removed.body['revision']) })
  while ((await call<unknown[]>('GET', '/v1/rules')).body.length > 0) await new Promise(setImmediate)
  t.same((await scrape()).naming(ruleId), [])
  t.ok(naming(ruleId).length > 5)
})

t.test('authentication failures are counted by code, over HTTP and control', async t => {
  const { call, scrape, connect, enroll, user } = await metricsFixture(t)
  const id = await enroll('edge')

  await call('GET', '/v1/clients', undefined, { authorization: 'Bearer wrong' })
  await t.rejects(connect(id, { token: 'nobody has this one' }))

  t.equal(
    (await scrape()).value('svc_auth_failures_total', 'reason="unauthenticated"'),
    undefined,
    'without a superadmin the answer is 503'
  )
  await user('ann')
  await call('GET', '/v1/clients', undefined, { authorization: 'Bearer wrong' })

  const { value } = await scrape()
  t.equal(value('svc_auth_failures_total', 'reason="token_unknown"'), 1)
  t.equal(value('svc_auth_failures_total', 'reason="unauthenticated"'), 1)
  t.equal(value('svc_audit_entries_total', 'outcome="deny"'), 2)
})

t.test('requests are counted by route and frames by message; invented names are not labels', async t => {
  const { call, scrape, edge } = await metricsFixture(t)
  const { agent } = await edge()
  await call('GET', '/v1/clients/01K9ZJ4M5N6P7Q8R9S0TABCDEF')
  await call('GET', '/v1/made-up')
  await agent.channel.request({ name: 'x' } as never, {}).catch(() => {})

  const { value, families } = await scrape()
  t.equal(value('svc_http_requests_total', 'method="GET",route="/v1/clients/:client_id",status="404"'), 1)
  t.equal(value('svc_http_requests_total', 'method="GET",route="none",status="404"'), 1)
  t.equal(
    value('svc_http_request_duration_seconds', '_count{method="GET",route="/v1/clients/:client_id"}'),
    1
  )
  t.equal(value('svc_control_frames_total', 'direction="out",type="sluice.rules.RulePush"'), 1)
  t.ok(value('svc_control_frames_total', 'direction="in",type="sluice.control.Hello"'))
  t.equal(families.get('svc_control_frames_total')?.type, 'counter')
})

t.test(
  'a scrape of many rules asks for each page of them, and for each client once',
  { skip: notOnPostgres('it counts statements of SQLite') },
  async t => {
    const { edge, server, scrape } = await metricsFixture(t)
    const { ruleId } = await edge()
    const { store } = server.depsOf('rules')
    await store.change(async em => {
      const { isExempt: _, ...first } = await em.findOneOrFail(Rule, { id: ruleId })
      for (let at = 0; at < 1_200; at++)
        await em.insert(Rule, { ...first, id: `${ruleId.slice(0, -4)}Z${String(at).padStart(3, '0')}` })
    })
    const asked = recordStatements(t)
    const reads = (what: RegExp) => asked.sql.filter(sql => what.test(sql)).length

    const { families } = await scrape()

    t.equal(families.get('svc_rule_connections_total')?.series.size, 1_201)
    t.equal(reads(/from rules where id > /), 3, 'pages of 500 rules')
    t.equal(reads(/from stats_total/), 3)
    t.equal(reads(/from "kernel_client" as own where .*"id" in/), 1)
  }
)

t.test('stored counts of a deleted rule appear under no other rule', async t => {
  const { edge, server, scrape } = await metricsFixture(t)
  const { clientId, ruleId } = await edge()
  const { store } = server.depsOf('rules')
  const counts = { ...noCounts, connections: 5, kind: 'rule', key: '' }
  const deleted = { ...counts, ruleId: '0'.repeat(26), clientId, owner: '_operator', updatedAt: 0 }
  await store.change(em => em.insert(StatsTotal, deleted))

  const series = (await scrape()).families.get('svc_rule_connections_total')?.series

  t.same([...(series ?? [])], [[`client="${clientId}",owner="_operator",rule="${ruleId}"`, 0]])
})
