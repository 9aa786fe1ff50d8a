// A target name that does not resolve fails the connection, never the rule.
import { connect } from 'node:net'
import t from 'tap'
import { freePort } from '../support/ports.ts'
import { startAgent, statsOf, testCluster, token } from '../support/test-cluster.ts'

const callers = 1_000
const atOnce = 100

t.test('a thousand failed DNS lookups leave the rule active, and each failure is counted', async t => {
  const cluster = await testCluster(t)
  await startAgent(t, cluster, 'paris')
  const port = await freePort()
  const targets = [{ host: 'nowhere.invalid', port: 80 }] // RFC 6761: it never resolves
  const body = { client: 'paris', listen_port: port, targets }
  const { rule_id } = await cluster.call<{ rule_id: string }>('POST', '/v1/rules', body)

  const refused = (): Promise<unknown> =>
    new Promise(resolve =>
      connect(port, '127.0.0.1')
        .once('error', () => {})
        .once('close', resolve)
    )
  for (let done = 0; done < callers; done += atOnce)
    await Promise.all(Array.from({ length: atOnce }, () => refused()))

  t.match(await cluster.call('GET', `/v1/rules/${rule_id}`), { state: 'active', state_reason: null })
  const { dns_failures } = await statsOf(cluster, rule_id, stats => stats.dns_failures >= callers)
  t.equal(dns_failures, callers)
  const headers = { authorization: `Bearer ${token}` }
  const metrics = await (await fetch(`${cluster.origin}/v1/metrics`, { headers })).text()
  t.match(metrics, new RegExp(`^svc_rule_dns_failures_total\\{.*rule="${rule_id}".*\\} ${callers}$`, 'm'))
})
