// An agent stops forwarding a rule when it can no longer enforce a restriction of the rule, with or without the
// server. It forwards again when it can. Real processes.
import { once } from 'node:events'
import { writeFileSync } from 'node:fs'
import { connect, createServer } from 'node:net'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import type { RuleRecord } from '../../plugins/rules/api/rule-record.ts'
import { freePort } from '../support/ports.ts'
import { startAgent, type TestCluster, testCluster } from '../support/test-cluster.ts'

interface Restriction {
  readonly plugin: string
  readonly code: string // of the failed rule
  readonly body?: object // of its create
  readonly path?: (clientId: string) => string // path of the owner's limit
  readonly limit?: object
  readonly status?: (path: string) => string // path of the record that shows `enforced`
  readonly isPlacedByOwner?: true // the owner's grant has a list of targets
}

const restrictions: Readonly<Record<string, Restriction>> = {
  quota: {
    plugin: 'quota',
    code: 'quota_unsupported_by_client',
    path: id => `/v1/users/quota/quotas/${id}`,
    limit: { monthly_bytes: 1_000_000 },
    status: path => `${path}/status`
  },
  envelope: {
    plugin: 'rate-limit',
    code: 'rate_limit_unsupported_by_client',
    path: id => `/v1/clients/${id}/owners/envelope/rate-limit`,
    limit: { concurrent_connections: 100 },
    status: path => path
  },
  'rate limit of the rule': {
    plugin: 'rate-limit',
    code: 'rate_limit_unsupported_by_client',
    body: { rate_limit: { concurrent_connections: 100 } }
  },
  'list of targets': {
    plugin: 'grants',
    code: 'target_filter_unsupported_by_client',
    isPlacedByOwner: true
  },
  'health check': {
    plugin: 'multi-target',
    code: 'rule_field_unsupported_by_client',
    body: { health_check_interval_secs: 3600 }
  },
  'TLS fallback': { plugin: 'sni', code: 'sni_unsupported_by_client', body: { sni_fallback: true } }
}

const disabled = [...new Set(Object.values(restrictions).map(({ plugin }) => plugin))]
  .map(plugin => `[plugins.${plugin}]\nenabled = false\n`)
  .join('')

async function openEcho(t: Test): Promise<number> {
  const port = await freePort()
  const server = createServer(socket => socket.on('error', () => {}).pipe(socket)).listen(port, '127.0.0.1')
  t.teardown(() => server.close())
  await once(server, 'listening')
  return port
}

/** Returns true if a byte is echoed, false if the port is closed or the connection ends. */
function forwards(port: number): Promise<boolean> {
  const { promise, resolve } = Promise.withResolvers<boolean>()
  const socket = connect(port, '127.0.0.1', () => socket.write('x')).on('error', () => {})
  socket.once('data', () => resolve(true)).once('close', () => resolve(false))
  return promise.finally(() => socket.destroy())
}

/** For each restriction, creates a limited owner and a rule of this owner. */
async function restrictedRules(t: Test, cluster: TestCluster, clientId: string) {
  const target = await openEcho(t)
  const rules: { name: string; restriction: Restriction; port: number; id: string }[] = []
  await cluster.call('POST', '/v1/users', { user_id: 'root', display_name: 'Root', role: 'superadmin' })
  for (const [name, restriction] of Object.entries(restrictions)) {
    const owner = name.toLowerCase().replaceAll(' ', '-')
    const port = await freePort()
    await cluster.call('POST', '/v1/users', { user_id: owner, display_name: owner })
    const { token } = await cluster.call<{ token: string }>('POST', `/v1/users/${owner}/credentials`, {})
    await cluster.call('POST', '/v1/grants', {
      user_id: owner,
      client_id: clientId,
      listen_port_start: port,
      listen_port_end: port,
      protocols: ['tcp'],
      targets: ['127.0.0.1']
    })
    if (restriction.path) await cluster.call('PUT', restriction.path(clientId), restriction.limit)
    const { rule_id: id } = await cluster.call<RuleRecord>(
      'POST',
      '/v1/rules',
      {
        client: 'paris',
        owner,
        listen_port: port,
        targets: [{ host: '127.0.0.1', port: target }],
        ...restriction.body
      },
      restriction.isPlacedByOwner && token
    )
    rules.push({ name, restriction, port, id })
  }
  return rules
}

t.test(
  'an agent that loses a plugin forwards no rule that the plugin restricts',
  { timeout: 300_000 },
  async t => {
    const cluster = await testCluster(t)
    const config = join(cluster.dir, 'agent.toml')
    writeFileSync(config, '')
    const paris = await startAgent(t, cluster, 'paris', { args: ['--config', config] })
    const rules = await restrictedRules(t, cluster, paris.clientId)
    const free = await freePort()
    const targets = [{ host: '127.0.0.1', port: await openEcho(t) }]
    await cluster.call('POST', '/v1/rules', { client: 'paris', listen_port: free, targets })

    async function restartAgent(
      text: string,
      started: 'control.connected' | 'control.unreachable'
    ): Promise<void> {
      paris.agent.signal('SIGKILL')
      await paris.agent.exit
      writeFileSync(config, text)
      paris.restart()
      await paris.agent.until(started) // the agent applies its saved state before this event
    }
    const show = (id: string) => cluster.call<RuleRecord>('GET', `/v1/rules/${id}`)
    async function allAre(t: Test, state: 'active' | 'failed'): Promise<void> {
      for (const { name, restriction, port, id } of rules) {
        const reason = state === 'failed' ? restriction.code : null
        for (
          let rule = await show(id);
          rule.state !== state || rule.state_reason !== reason;
          rule = await show(id)
        )
          await new Promise(resolve => setTimeout(resolve, 100))
        const path = restriction.path?.(paris.clientId)
        if (path && restriction.status)
          t.match(await cluster.call('GET', restriction.status(path)), { enforced: state === 'active' }, name)
        t.equal(await forwards(port), state === 'active', name)
      }
      t.ok(await forwards(free), 'a rule without a restriction')
    }
    await t.test('with the plugins all rules forward', t => allAre(t, 'active'))

    cluster.server.signal('SIGKILL')
    await cluster.server.exit
    await restartAgent(disabled, 'control.unreachable')
    await t.test(
      'an agent without the plugins fails the rules of its saved state, without the server',
      async t => {
        for (const { name, port } of rules) t.notOk(await forwards(port), name)
        t.ok(await forwards(free), 'a rule without a restriction')
      }
    )

    await restartAgent('', 'control.unreachable')
    await t.test('with the plugins again the rules forward, still without the server', async t => {
      for (const { name, port } of rules) t.ok(await forwards(port), name)
    })

    await restartAgent(disabled, 'control.unreachable')
    await cluster.restart()
    await cluster.server.until('client.connected')
    await t.test('a connected agent reports the rules as failed, with the code', t => allAre(t, 'failed'))

    await restartAgent('', 'control.connected')
    await t.test('with the plugins again the rules return to active', t => allAre(t, 'active'))

    await restartAgent(disabled, 'control.connected')
    await t.test('the rules fail when the plugins are lost while the server runs', t => allAre(t, 'failed'))
  }
)
