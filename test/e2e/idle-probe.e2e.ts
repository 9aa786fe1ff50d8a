// Targets of rules that nobody calls, in real processes.
import { setTimeout as wait } from 'node:timers/promises'
import t from 'tap'
import { freePort } from '../support/ports.ts'
import { startAgent, testCluster } from '../support/test-cluster.ts'

interface Rule {
  readonly rule_id: string
  readonly targets: readonly { readonly health: { readonly state: string } }[]
}

t.test('a target that cannot be reached is shown without a caller', async t => {
  const cluster = await testCluster(t)
  await startAgent(t, cluster, 'berlin', { env: { SVC_IDLE_PROBE: 'true' } })
  const push = async (target: string) =>
    cluster.json<Rule>('rule', 'push', 'berlin', String(await freePort()), target)
  const dead = await push(`127.0.0.1:${await freePort()}`)
  const unnamed = await push('no-such-host.invalid:80')
  const shown = async ({ rule_id }: Rule): Promise<Rule> => {
    const rule = await cluster.call<Rule>('GET', `/v1/rules/${rule_id}`)
    if (rule.targets[0]?.health.state === 'failed') return rule
    await wait(200)
    return shown(rule)
  }

  const [refused, unresolved] = await Promise.all([dead, unnamed].map(shown))

  t.match(refused, { targets: [{ health: { reason: 'refused', source: 'probe' } }] })
  const dns = /^dns_(nxdomain|servfail|timeout)$/ // depends on the DNS servers of this machine
  t.match(unresolved, { targets: [{ health: { reason: dns, source: 'probe' } }] })
  const { stdout } = await cluster.cli(['rule', 'list'])
  t.match(stdout, /failed: refused/)
  t.match(stdout, /failed: dns_/)
})
