import t from 'tap'
import { definePlugin } from '../../../kernel/plugin.ts'
import { visibleSlot } from '../../clients/exports.ts'
import { until } from '../../rules/test/fixture.ts'
import type { Summary } from '../schema.ts'
import { minute, row, statsFixture } from './fixture.ts'

const empty: Summary = {
  clients: { total: 0, connected: 0 },
  rules: { total: 0, active: 0, failed: 0 },
  bytes_in: 0,
  bytes_out: 0,
  active_connections: 0
}

t.test('the summary of an empty server is all zero', async t => {
  const { call } = await statsFixture(t)

  t.strictSame(await call('GET', '/v1/stats/summary').then(({ body }) => body), empty)
})

t.test('a superadmin sees the sums of all rules, and a user sees those of their own rules', async t => {
  const visible: string[] = []
  const grants = definePlugin({
    name: 'some-grants',
    version: '1.0.0',
    kernel: '^2.0.0',
    needs: { clients: '^1.0.0' },
    fills: [visibleSlot.fill(async () => visible)]
  })
  const on = await statsFixture(t, { plugins: ['users', 'clients', 'rules', 'stats', grants] })
  const one = await on.edge('one')
  const two = await on.edge('two')
  const three = await on.enroll('three')
  await on.call('POST', `/v1/clients/${await on.enroll('revoked')}/revoke`)
  const [ada, bob] = [await on.user('ada'), await on.user('bob')]
  visible.push(one.clientId, three)
  const adaRule = (await on.push({ client: one.clientId, listen_port: 1, owner: 'ada' })).body.rule_id
  const failed = (await on.push({ client: one.clientId, listen_port: 2, owner: 'ada' })).body.rule_id
  one.agent.sendStatus({ kind: 'rule', id: failed, revision: 3, code: 'port_in_use', message: 'taken' })
  await until(
    () => on.get(failed),
    ({ state }) => state === 'failed'
  )
  const bytes = (id: string, bytes_in: number, bytes_out: number) => [
    row(id, 'minute', minute, { bytes_in, bytes_out }),
    row(id, 'target', '10.0.0.1:80', { bytes_in, bytes_out })
  ]
  const ports = new Map([
    [adaRule, 1],
    [one.ruleId, 8080],
    [two.ruleId, 8081]
  ])
  const live = (rule_id: string, connections: number) => ({
    rule_id,
    port: ports.get(rule_id) ?? 1,
    connections
  })
  await on.report(one.agent, {
    rows: [...bytes(adaRule, 1, 2), ...bytes(one.ruleId, 10, 20)],
    live: [live(adaRule, 3), live(one.ruleId, 4), live(two.ruleId, 1000), live('01NEVERWAS', 1000)]
  })
  await on.report(two.agent, { rows: bytes(two.ruleId, 100, 200), live: [live(two.ruleId, 5)] })
  const summary = async (headers?: { authorization: string }) =>
    (await on.call<Summary>('GET', '/v1/stats/summary', undefined, headers)).body

  t.strictSame(await summary(), {
    clients: { total: 4, connected: 2 },
    rules: { total: 4, active: 3, failed: 1 },
    bytes_in: 111,
    bytes_out: 222,
    active_connections: 12
  })
  t.strictSame(await summary(ada), {
    clients: { total: 2, connected: 1 },
    rules: { total: 2, active: 1, failed: 1 },
    bytes_in: 1,
    bytes_out: 2,
    active_connections: 3
  })
  visible.length = 0
  t.strictSame(await summary(bob), empty)
})

t.test('a deleted rule counts in no sum, even before its last report', async t => {
  const on = await statsFixture(t)
  const { agent, ruleId } = await on.edge()
  await on.report(agent, {
    rows: [row(ruleId, 'minute', minute, { bytes_in: 10 })],
    live: [{ rule_id: ruleId, port: 8080, connections: 3 }]
  })
  await on.disconnect(agent)

  await on.call('DELETE', `/v1/rules/${ruleId}`)

  t.match((await on.call<Summary>('GET', '/v1/stats/summary')).body, {
    rules: { total: 0 },
    bytes_in: 0,
    active_connections: 0
  })
})

t.test('the summary requires authentication', async t => {
  const on = await statsFixture(t)
  await on.user('ada')

  t.equal((await on.call('GET', '/v1/stats/summary', undefined, { authorization: '' })).status, 401)
})
