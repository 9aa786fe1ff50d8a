// Pushes of quotas to agents.
import t from 'tap'
import { LastReport } from '../../../agent/wire/journal-report.ts'
import { scriptedResponse } from '../../../kit/scripted-agent.ts'
import { testServer } from '../../../kit/test-server.ts'
import type { RuleRecord } from '../../rules/exports.ts'
import { until } from '../../rules/test/fixture.ts'
import { RulePush } from '../../rules/wire.ts'
import { epoch, noon } from '../../stats/test/fixture.ts'
import { TrafficQuotaUpdate } from '../wire.ts'
import { plugins, quotaFixture, supportingAgent } from './fixture.ts'

const february = Date.UTC(2026, 1, 1) / 1000

t.test('each change is pushed: size, usage up to a report, credit, period', async t => {
  const { put, patch, use, call, clientId, agent, updates } = await quotaFixture(t)

  await put({ monthly_bytes: 1000 })
  await agent.until(TrafficQuotaUpdate.name)
  await use(1000, 7)
  await patch({ monthly_bytes: 2000 })
  await agent.until(TrafficQuotaUpdate.name, 2)
  await patch({ clear_period_usage: true })
  await agent.until(TrafficQuotaUpdate.name, 3)
  await call('DELETE', `/v1/users/ann/quotas/${clientId}`)
  await agent.until(TrafficQuotaUpdate.name, 4)

  const terms = { action: 'SET', user_id: 'ann', period_end: february, since: noon / 1000, hold_secs: 60 }
  t.match(updates(), [
    { ...terms, monthly_bytes: 1000, used: 0, credit: 0, epoch: '', seq: 0 },
    { ...terms, monthly_bytes: 2000, used: 1000, credit: 0, epoch, seq: 7 },
    { ...terms, monthly_bytes: 2000, used: 1000, credit: 1000, epoch, seq: 7 },
    { action: 'REMOVE', user_id: 'ann' }
  ])
})

t.test('a quota of a disconnected client is delivered when it connects, before its rules', async t => {
  const { put, disconnect, agent, connected, clientId, push } = await quotaFixture(t)
  await disconnect(agent)

  t.match(await put({ monthly_bytes: 1000 }), { status: 200 })
  const again = await connected(clientId, supportingAgent)
  await again.until(RulePush.name)

  const names = again.received.map(({ name }) => name)
  t.ok(names.indexOf(TrafficQuotaUpdate.name) !== -1)
  t.ok(names.indexOf(TrafficQuotaUpdate.name) < names.indexOf(RulePush.name))
  t.match(await push({ listen_port: 81 }), { status: 201 })
})

t.test('quotas are pushed again to a restarted agent, not after a lost stream', async t => {
  const { put, disconnect, agent, connected, clientId } = await quotaFixture(t)
  await put({ monthly_bytes: 1000 })
  const { body } = await agent.until(TrafficQuotaUpdate.name)
  const inventory = [
    { kind: 'quota', id: 'ann', revision: Number(body['revision']) },
    ...agent.received
      .filter(({ name }) => name === RulePush.name)
      .map(({ body }) => ({ kind: 'rule', id: String(body['rule_id']), revision: Number(body['revision']) }))
  ]
  const { generation } = agent.welcome
  await disconnect(agent)
  const same = await connected(clientId, { ...supportingAgent, inventory, generation })
  await same.close()

  const other = await connected(clientId, {
    ...supportingAgent,
    inventory,
    generation,
    instanceId: 'another'
  })
  const again = await other.until(TrafficQuotaUpdate.name)

  t.notMatch(same.received, [{ name: TrafficQuotaUpdate.name }])
  t.ok(Number(again.body['revision']) > Number(body['revision']))
})

t.test('quotas are pushed again to an agent that was restarted while the server was, too', async t => {
  const { restart, put, disconnect, agent, connected, clientId } = await quotaFixture(t)
  await put({ monthly_bytes: 1000 })
  const { body } = await agent.until(TrafficQuotaUpdate.name)
  const inventory = [{ kind: 'quota', id: 'ann', revision: Number(body['revision']) }]
  const { generation } = agent.welcome
  await disconnect(agent)
  await restart()

  const other = await connected(clientId, {
    ...supportingAgent,
    inventory,
    generation,
    instanceId: 'another'
  })

  const again = await other.until(TrafficQuotaUpdate.name)
  t.ok(Number(again.body['revision']) > Number(body['revision']))
})

t.test('the agent is asked for a report before a quota is created or usage is cleared', async t => {
  const { connected, enroll, call } = await quotaFixture(t)
  const requests: string[] = []
  const answers = [...(supportingAgent.responses ?? []), scriptedResponse(LastReport, () => ({}))]
  const clientId = await enroll('asked')
  const react = ({ name }: { name: string }) => {
    requests.push(name)
    return 'accept' as const
  }
  await connected(clientId, { ...supportingAgent, responses: answers, react })
  const path = `/v1/users/ann/quotas/${clientId}`

  await call('PUT', path, { monthly_bytes: 1 })
  await call('PUT', path, { monthly_bytes: 2 })
  await call('PATCH', path, { monthly_bytes: 3 })
  await call('PATCH', path, { clear_period_usage: true })

  t.equal(requests.filter(name => name === LastReport.name).length, 2)
})

t.test('a refusal by the agent is logged', async t => {
  const { enroll, connected, call, log } = await quotaFixture(t)
  const clientId = await enroll('stubborn')
  await connected(clientId, {
    ...supportingAgent,
    react: ({ name }) => (name === TrafficQuotaUpdate.name ? { refuse: 'internal' } : 'accept')
  })

  await call('PUT', `/v1/users/ann/quotas/${clientId}`, { monthly_bytes: 1 })
  while (!log.some(({ event }) => event === 'traffic_quota.refused'))
    await new Promise(resolve => setImmediate(resolve))

  t.match(log.at(-1), { fields: { client: clientId, user: 'ann', code: 'internal' } })
})

t.test('a changed hold time reaches the agents after a restart of the server', async t => {
  const first = await quotaFixture(t)
  await first.put({ monthly_bytes: 1000 })
  await first.agent.until(TrafficQuotaUpdate.name)
  await first.agent.close()
  await first.stop()

  const keys = { quota_hold_secs: 5 }
  const again = await testServer(t, { plugins, dir: first.dir, clock: first.clock, keys })
  const { control } = again.server.depsOf('quota')
  const agent = await first.connect(first.clientId, {
    ...supportingAgent,
    port: control.port(),
    fingerprint: control.fingerprint
  })

  const { body } = await agent.until(TrafficQuotaUpdate.name)
  t.match(body, { hold_secs: 5, monthly_bytes: 1000 })
})

t.test(
  'quotas and the rules under them are not pushed without the plugin, and are pushed when it returns',
  async t => {
    const first = await quotaFixture(t)
    await first.put({ monthly_bytes: 1000 })
    await first.agent.close()
    await first.stop()
    const join = async (loaded: string[]) => {
      const server = await testServer(t, { plugins: loaded, dir: first.dir, clock: first.clock })
      const { control } = server.server.depsOf('rules')
      const at = { port: control.port(), fingerprint: control.fingerprint }
      return { server, agent: await first.connect(first.clientId, { ...supportingAgent, ...at }) }
    }

    const without = await join(plugins.slice(0, -1))
    await until(
      async () => (await without.server.call<RuleRecord>('GET', `/v1/rules/${first.ruleId}`)).body,
      ({ state_reason }) => state_reason === 'field_not_loaded'
    )
    t.notOk(without.agent.welcome.kinds.includes('quota'), 'the agent removes its quotas')
    const names = without.agent.received.map(({ name }) => name)
    t.notOk(names.includes(TrafficQuotaUpdate.name) || names.includes(RulePush.name))
    await without.agent.close()
    await without.server.stop()

    const { agent } = await join(plugins)
    t.match((await agent.until(TrafficQuotaUpdate.name)).body, { action: 'SET', monthly_bytes: 1000 })
    t.match((await agent.until(RulePush.name)).body, { rule_id: first.ruleId })
  }
)
