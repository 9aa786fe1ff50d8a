import t from 'tap'
import type { RuleRecord } from '../../rules/api/rule-record.ts'
import { until } from '../../rules/test/fixture.ts'
import { RulePush } from '../../rules/wire.ts'
import type { RuleStats } from '../../stats/schema.ts'
import { groupsFixture } from './fixture.ts'

t.test('statistics show sums and each client; metrics have the id of the group rule', async t => {
  const app = await groupsFixture(t)
  const ids = [await app.edge('a'), await app.edge('b')]
  const agents = [await app.agent(String(ids[0])), await app.agent(String(ids[1]))]
  const { body: rule } = await app.group({ ids })
  const parts = agents.map(
    ({ received }) => received.find(({ name }) => name === RulePush.name)?.body['rule_id']
  )
  for (const [at, clientId] of ids.entries())
    await app.server.depsOf('clients').store.change(em =>
      em.execute(
        `insert into stats_total (rule_id, kind, key, client_id, owner, updated_at, bytes_in, bytes_out, datagrams_in,
          datagrams_out, connections, dns_failures, failovers, overflows, rejected)
         values (?, 'rule', '', ?, '_operator', 1, ?, 2, 0, 0, 3, 0, 0, 0, 0)`,
        [parts[at], clientId, at + 1]
      )
    )

  const stats = await app.call<RuleStats>('GET', `/v1/rules/${rule.rule_id}/stats?per_client=true`)

  t.match(stats, {
    status: 200,
    body: {
      ...{ rule_id: rule.rule_id, client_id: null, bytes_in: 3, bytes_out: 4, connections_total: 6 },
      per_client: [
        { client_name: 'a', bytes_in: 1 },
        { client_name: 'b', bytes_in: 2 }
      ]
    }
  })
  const { text } = await app.call('GET', '/v1/metrics')
  for (const id of ids)
    t.match(text, `svc_rule_state{client="${id}",owner="_operator",rule="${rule.rule_id}",state="active"} 1`)
  t.equal(text.match(/^svc_rule_state\{/gm)?.length, 2)
  t.match((await app.call('GET', '/v1/stats/summary')).body, {
    rules: { total: 1, active: 1, failed: 0 },
    bytes_in: 3
  })
})

t.test('the list of a client includes its group rules', async t => {
  const app = await groupsFixture(t)
  const ids = [await app.edge('a'), await app.edge('b')]
  const { body: rule } = await app.group({ ids: [ids[0]] }, { if_offline: 'queue' })
  const listed = async (query: string) =>
    (await app.call<RuleRecord[]>('GET', `/v1/rules${query}`)).body.map(({ rule_id }) => rule_id)

  t.same(await listed('?client=a'), [rule.rule_id])
  t.same(await listed('?client=b'), [])
  t.same(await listed('?state=pending'), [rule.rule_id])
})

t.test('an expired group rule is removed once, with one entry in the audit log', async t => {
  const app = await groupsFixture(t, { keys: { expired_rules_keep_secs: 0 } })
  const ids = [await app.edge('a'), await app.edge('b')]
  for (const id of ids) await app.agent(id, { clock: app.clock })
  const expires_at = new Date(app.clock.now() + 60_000).toISOString()
  const { body: rule } = await app.group({ ids }, { expires_at })
  t.equal(rule.state, 'active')

  await app.clock.advance(61_000)
  const expired = () => app.decisions.filter(({ action }) => action === 'rule.expire')
  await until(
    async () => {
      await app.clock.advance(1000)
      return expired()
    },
    found => found.length > 0
  )

  t.match(expired(), [{ resourceId: rule.rule_id }])
  t.equal(expired().length, 1)
})

t.test(
  'the edge of a client that refuses the rule is failed, and the server retries at its reconnect',
  async t => {
    const app = await groupsFixture(t)
    const ids = [await app.edge('a'), await app.edge('b')]
    await app.agent(String(ids[0]))
    const refusing = await app.agent(String(ids[1]), {
      react: ({ name }) => (name === RulePush.name ? { refuse: 'port_in_use' } : 'accept')
    })

    const created = await app.group({ ids })

    t.match(created, {
      status: 201,
      body: {
        state: 'partial',
        state_reason: 'port_in_use',
        edges: [{ state: 'active' }, { client_name: 'b', state: 'failed', state_reason: 'port_in_use' }]
      }
    })
    await refusing.close()
    await app.agent(String(ids[1]))
    await until(
      () => app.states(created.body.rule_id),
      states => states['b'] === 'active'
    )
  }
)

t.test(
  'a client that refuses a change keeps the earlier rule, and its edge is failed until a change succeeds',
  async t => {
    const app = await groupsFixture(t)
    const ids = [await app.edge('a'), await app.edge('b')]
    let isRefusing = false
    await app.agent(String(ids[0]))
    await app.agent(String(ids[1]), {
      react: ({ name, body }) =>
        name === RulePush.name && isRefusing && body['listen_from'] === 9090
          ? { refuse: 'port_in_use' }
          : 'accept'
    })
    const { body: rule } = await app.group({ ids })
    isRefusing = true
    const patch = () => app.call('PATCH', `/v1/rules/${rule.rule_id}`, { listen_port: 9090 })

    t.match(await patch(), {
      status: 200,
      body: {
        ...{ listen_port: 9090, state: 'partial' },
        edges: [{ state: 'active' }, { state: 'failed', state_reason: 'change_refused' }]
      }
    })

    isRefusing = false
    t.match(await patch(), { status: 200, body: { state: 'active' } })
  }
)

t.test('bulk changes work for group rules, and a dry run is rolled back', async t => {
  const app = await groupsFixture(t)
  const ids = [await app.edge('a'), await app.edge('b')]
  const { body: rule } = await app.group({ ids }, { if_offline: 'queue', labels: { app: 'web' } })
  const bulk = (body: object) =>
    app.call('POST', '/v1/rules/bulk', { selector: 'app=web', action: 'pause', ...body })

  t.match(await bulk({ dry_run: true }), { body: { matched: 1, results: [{ status: 204 }] } })
  t.match(await app.read(rule.rule_id), { paused: false })
  t.match(await bulk({ atomic: true }), {
    body: { matched: 1, results: [{ rule_id: rule.rule_id, status: 204 }] }
  })
  t.match(await app.read(rule.rule_id), { paused: true })
})
