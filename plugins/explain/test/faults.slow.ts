// Faults in a real set-up, each with what explains it. TEST_ENGINE=portable takes the other engine.
import { execFileSync } from 'node:child_process'
import { readdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { openDns } from '../../../test/support/dns.ts'
import { freePort } from '../../../test/support/ports.ts'
import { startAgent, type TestCluster, testCluster } from '../../../test/support/test-cluster.ts'
import type { Explanation } from '../schema.ts'
import {
  at,
  type Edge,
  type Fault,
  good,
  probed,
  push,
  type Question,
  serveHello,
  toName,
  toPort
} from './edge.ts'
import {
  call,
  hold,
  makeCertificate,
  openSilentPort,
  openTarget,
  openTlsTarget,
  openUdpTarget,
  refused
} from './places.ts'
import { maxFlows, refusals } from './refusals.ts'

const engine = process.env['TEST_ENGINE'] ?? 'native'
const limitMs = 3_000

const soon = (): string => new Date(Date.now() + 3_600_000).toISOString()
const closedWindow = () => {
  const day = (['sun', 'mon', 'tue', 'wed', 'thu', 'fri', 'sat'] as const)[(new Date().getUTCDay() + 3) % 7]
  return { time_zone: 'UTC', windows: [{ days: [day], from: '00:00', to: '01:00' }] }
}

const faults: readonly Fault[] = [
  {
    name: 'none: the port forwards',
    says: 'forwarded connected',
    seed: async edge => probed((await good(edge)).port)
  },
  { name: 'no rule on the port', says: 'no_rule no_rule', seed: async () => ({ port: await freePort() }) },
  {
    name: 'the rule is for the other protocol',
    says: 'no_rule no_rule',
    seed: async edge => ({ port: (await good(edge)).port, protocol: 'udp' })
  },
  { name: 'the name does not exist', says: 'refused nxdomain', seed: toName('nowhere.test') },
  { name: 'the DNS server fails', says: 'refused servfail', seed: toName('broken.test') },
  { name: 'the DNS server is silent', says: 'refused timeout', seed: toName('silent.test') },
  { name: 'the name has no address', says: 'refused no_address', seed: toName('empty.test') },
  {
    name: 'the name leads to an address that the guardrails deny',
    says: 'refused denied_by_agent',
    seed: toName('metadata.test')
  },
  {
    name: 'a stale record leads to a host where nothing listens',
    says: 'refused connect_refused',
    target: { address: '127.0.0.1' },
    seed: async edge => probed((await push(edge, { targets: [at(await freePort(), 'local.test')] })).port)
  },
  { name: 'nothing listens', says: 'refused connect_refused', seed: toPort(() => freePort()) },
  {
    name: 'packets are dropped',
    says: 'refused connect_timeout',
    seed: toPort(({ t }) => openSilentPort(t))
  },
  {
    name: 'there is no route',
    says: 'refused unreachable',
    seed: toName('unroutable.test') // as a target an address that no host routes is refused
  },
  {
    name: 'the target is silent',
    says: 'forwarded connected',
    target: { first_byte_ms: undefined },
    seed: toPort(({ t }) => openTarget(t, () => {}))
  },
  {
    name: 'the target closes at once',
    says: 'forwarded target_closed',
    target: { error: 'target_closed' },
    seed: toPort(({ t }) => openTarget(t, socket => socket.destroy()))
  },
  {
    name: 'the target is the port of the rule itself',
    says: 'refused loop',
    async seed(edge) {
      const port = await freePort()
      await push(edge, { listen_port: port, targets: [at(port, 'local.test')] })
      return probed(port)
    }
  },
  {
    name: 'another process has the port',
    says: 'refused port_in_use',
    async seed(edge) {
      const port = await openTarget(edge.t, serveHello)
      await push(edge, { listen_port: port, targets: [at(9)] }).catch(() => {})
      return { port }
    }
  },
  {
    name: 'the guardrails deny the port',
    says: 'refused denied_by_agent',
    async seed(edge) {
      await push(edge, { listen_port: 9_999, targets: [at(9)] }).catch(() => {})
      return { port: 9_999 }
    }
  },
  {
    name: 'paused',
    says: 'refused paused',
    seed: async edge => ({ port: (await good(edge, { paused: true })).port })
  },
  {
    name: 'expired',
    says: 'refused expired',
    async seed(edge) {
      const expires_at = new Date(Date.now() + 800).toISOString()
      const { port, id } = await good(edge, { expires_at })
      await edge.paris.agent.until('rule.not_listening', ({ rule }) => rule === id)
      return { port }
    }
  },
  {
    name: 'outside the hours',
    says: 'refused outside_schedule',
    seed: async edge => ({ port: (await good(edge, { schedule: closedWindow() })).port })
  },
  {
    name: 'not yet',
    says: 'refused outside_schedule',
    seed: async edge => ({ port: (await good(edge, { not_before: soon() })).port })
  },
  {
    name: 'as many connections as may be',
    says: 'refused concurrent_connections',
    async seed(edge) {
      const { port } = await good(edge, { rate_limit: { concurrent_connections: 1 } })
      await hold(edge.t, port)
      return probed(port)
    }
  },
  {
    name: 'new connections come too fast',
    says: 'refused new_connections_per_sec',
    async seed(edge) {
      const rate_limit = { new_connections_per_sec: 1 }
      const { port } = await push(edge, {
        targets: [at(await openTarget(edge.t, socket => socket.end('bye')))],
        rate_limit
      })
      await Promise.all(Array.from({ length: 8 }, () => call(port)))
      return probed(port)
    }
  },
  {
    name: 'the limit of the owner is reached',
    says: 'refused owner_concurrent_connections',
    async seed(edge) {
      const { cluster, paris, t } = edge
      await cluster.call('PUT', `/v1/clients/${paris.clientId}/owners/owen/rate-limit`, {
        concurrent_connections: 1
      })
      const { port } = await good(edge, { owner: 'owen' })
      await hold(t, port)
      return probed(port)
    }
  },
  {
    name: 'the quota is used up',
    says: 'refused traffic_quota_exhausted',
    async seed(edge) {
      const { cluster, paris } = edge
      await cluster.call('PUT', `/v1/users/quin/quotas/${paris.clientId}`, { monthly_bytes: 4 })
      const { port } = await push(edge, {
        owner: 'quin',
        targets: [at(await openTarget(edge.t, socket => socket.end('twelve bytes')))]
      })
      await hold(edge.t, port).catch(() => {})
      await paris.agent.until('traffic_quota.exhausted', ({ user }) => user === 'quin')
      return probed(port)
    }
  },
  {
    name: 'the caller is no proxy in front',
    says: 'refused proxy_untrusted',
    seed: async edge =>
      probed((await good(edge, { proxy_in: ['192.0.2.0/24'] })).port, { source: '198.51.100.7' })
  },
  {
    name: 'the proxy in front sends no header',
    says: 'refused proxy_header',
    async seed(edge) {
      const { port } = await good(edge, { proxy_in: ['127.0.0.0/8'] })
      await call(port, 'GET / HTTP/1.0\r\n\r\n')
      return probed(port, { source: '127.0.0.1' })
    }
  },
  {
    name: 'no rule is for the TLS name',
    says: 'refused sni_miss',
    seed: async edge =>
      probed((await good(edge, { sni_pattern: 'shop.example' })).port, { sni: 'other.example' })
  },
  {
    name: 'no TLS on a port of names',
    says: 'refused sni_miss',
    seed: async edge => probed((await good(edge, { sni_pattern: 'shop.example' })).port)
  },
  {
    name: 'the certificate of the target is for another name',
    says: 'forwarded certificate_name',
    target: { error: 'certificate_name', tls_name: 'other.example' },
    seed: toPort(
      ({ t, tls }) => openTlsTarget(t, tls),
      { sni_pattern: 'shop.example' },
      { sni: 'shop.example' }
    )
  },
  {
    name: 'the target of a TLS name speaks no TLS',
    says: 'forwarded tls_failed',
    target: { error: 'tls_failed' },
    seed: toPort(
      ({ t }) => openTarget(t, serveHello),
      { sni_pattern: 'shop.example' },
      { sni: 'shop.example' }
    )
  },
  {
    name: 'the UDP target is silent',
    says: 'forwarded connected',
    target: { first_byte_ms: undefined },
    seed: toPort(({ t }) => openUdpTarget(t, null), { protocol: 'udp' }, { protocol: 'udp' })
  },
  {
    name: 'ICMP says that nobody takes datagrams',
    says: 'refused connect_refused',
    seed: toPort(() => freePort(), { protocol: 'udp' }, { protocol: 'udp' })
  },
  {
    name: 'the UDP target answers',
    says: 'forwarded connected',
    seed: toPort(({ t }) => openUdpTarget(t, 'pong'), { protocol: 'udp' }, { protocol: 'udp' })
  },
  {
    name: 'all targets are down',
    says: 'refused connect_refused',
    async seed(edge) {
      const targets = [at(await freePort()), at(await freePort())]
      return probed((await push(edge, { targets })).port)
    }
  },
  {
    name: 'the first target is down',
    says: 'forwarded connected',
    target: { error: 'connect_refused' },
    async seed(edge) {
      const targets = [at(await freePort()), at(await openTarget(edge.t, serveHello))]
      return probed((await push(edge, { targets })).port)
    }
  },
  {
    name: 'the grant of the owner is gone, and the rule with it',
    says: 'no_rule no_rule',
    async seed(edge) {
      const { cluster, tokens } = edge
      const { grant_id } = await cluster.call<{ grant_id: string }>('POST', '/v1/grants', {
        ...{ user_id: 'gail', client_id: '*', protocols: ['tcp'] },
        ...{ listen_port_start: 1, listen_port_end: 65_535 }
      })
      const targets = [at(await openTarget(edge.t, serveHello))]
      const { port } = await push(edge, { targets }, tokens['gail'])
      await cluster.call('DELETE', `/v1/grants/${grant_id}`)
      return probed(port)
    }
  },
  {
    name: 'none: the owner is disabled, and the rule stays in force',
    says: 'forwarded connected',
    async seed(edge) {
      const { port } = await good(edge, { owner: 'dora' })
      await edge.cluster.call('PATCH', '/v1/users/dora', { disabled: true })
      return probed(port)
    }
  },
  {
    name: 'the name leads to an address outside of the grant',
    says: 'refused target_denied',
    async seed(edge) {
      const { cluster, tokens } = edge
      const port = await openTarget(edge.t, serveHello)
      await cluster.call('POST', '/v1/grants', {
        ...{ user_id: 'tess', client_id: '*', protocols: ['tcp'], targets: ['local.test', '192.0.2.0/24'] },
        ...{ listen_port_start: 1, listen_port_end: 65_535 }
      })
      const rule = await push(edge, { targets: [at(port, 'local.test')] }, tokens['tess'])
      const [grant] = (
        await cluster.call<{ grant_id: string; user_id: string }[]>('GET', '/v1/grants')
      ).filter(({ user_id }) => user_id === 'tess')
      await cluster.call('POST', '/v1/grants', {
        ...{ user_id: 'tess', client_id: '*', protocols: ['tcp'], targets: ['192.0.2.0/24'] },
        ...{ listen_port_start: rule.port, listen_port_end: rule.port }
      })
      await cluster.call('DELETE', `/v1/grants/${grant?.grant_id}`)
      return probed(rule.port, { as: 'tess' })
    }
  },
  {
    name: "another's rule",
    says: 'no_rule no_rule',
    seed: async edge => ({ port: (await good(edge)).port, as: 'tess' })
  }
]

/** Faults of the whole set-up, one after the other. */
const later: readonly Fault[] = [
  {
    name: 'the agent has no descriptors left',
    says: 'refused descriptors',
    async seed(edge) {
      const { port } = await good(edge)
      const limit = (soft: string) =>
        execFileSync('prlimit', ['--pid', String(edge.paris.agent.pid), `--nofile=${soft}:`])
      limit(String(firstFree(edge.paris.agent.pid) + 1)) // room for the caller, and not for its target
      await refused(port, '127.0.0.1')
      limit('4096')
      return probed(port)
    }
  },
  {
    name: 'the switch "under attack" gives each source one connection',
    says: 'refused under_attack',
    async seed({ cluster, paris, ...edge }) {
      const { port } = await good({ cluster, paris, ...edge })
      await cluster.call('PUT', `/v1/clients/${paris.clientId}/under-attack`, { connections: 1 })
      await hold(edge.t, port, '127.0.0.49')
      await refused(port, '127.0.0.49')
      return probed(port, { source: '127.0.0.49' })
    }
  },
  {
    name: 'the agent is without the plugin of a field',
    says: 'refused rule_field_unsupported_by_client',
    async seed(edge) {
      const { port } = await good(edge, { balance: 'round_robin' })
      writeConfig(edge.cluster, '[plugins.balance]\nenabled = false\n')
      await restart(edge)
      return probed(port)
    }
  },
  {
    name: 'the agent is without the plugin that explains',
    says: 'unknown explain_unsupported_by_client',
    async seed(edge) {
      const { port } = await good(edge)
      writeConfig(edge.cluster, '[plugins.explain]\nenabled = false\n')
      await restart(edge)
      return probed(port)
    }
  },
  {
    name: 'the client is offline',
    says: 'unknown client_not_connected',
    async seed(edge) {
      const { port } = await good(edge)
      await stop(edge)
      return probed(port)
    }
  },
  {
    name: 'the rule waits for the edge',
    says: 'unknown pending',
    seed: async edge => probed((await good(edge, { if_offline: 'queue' })).port)
  },
  {
    name: 'the plugin of the rule is off on the server',
    says: 'refused field_not_loaded',
    async seed(edge) {
      const { cluster } = edge
      const { port } = await good(edge, { if_offline: 'queue', rate_limit: { concurrent_connections: 5 } })
      cluster.server.signal('SIGTERM')
      await cluster.server.exit
      cluster.configure('[plugins.rate-limit]\nenabled = false\n')
      await cluster.restart()
      return probed(port)
    }
  },
  {
    name: 'the client is revoked',
    says: 'refused token_revoked',
    async seed(edge) {
      const { port } = await good(edge, { if_offline: 'queue' })
      await edge.cluster.call('POST', `/v1/clients/${edge.paris.clientId}/revoke`)
      return probed(port)
    }
  }
]

/** The lowest number that no descriptor of a process has. */
function firstFree(pid: number): number {
  const used = new Set(readdirSync(`/proc/${pid}/fd`).map(Number))
  return used.values().reduce((free, _) => (used.has(free) ? free + 1 : free), 0)
}

const agentConfig = (more: string): string => `engine = "${engine}"
allow_ports = ["1-9998", "10000-65535"]
deny_targets = ["169.254.0.0/16"]
${more}`

const agentFile = (cluster: TestCluster): string => join(cluster.dir, 'agent.toml')
const writeConfig = (cluster: TestCluster, more = ''): void =>
  writeFileSync(agentFile(cluster), agentConfig(more))

async function stop({ paris, cluster }: Edge): Promise<void> {
  const after = cluster.server.events.length
  paris.agent.signal('SIGKILL')
  await cluster.server.until('client.disconnected', () => true, after)
}

async function restart(edge: Edge): Promise<void> {
  await stop(edge)
  const after = edge.cluster.server.events.length
  edge.paris.restart()
  await edge.cluster.server.until('client.connected', () => true, after)
}

async function openEdge(t: Test): Promise<Edge> {
  const zone = {
    'broken.test': 'SERVFAIL',
    'silent.test': 'SILENT',
    'empty.test': [],
    'metadata.test': ['169.254.169.254'],
    'local.test': ['127.0.0.1'],
    'unroutable.test': ['255.255.255.255']
  } as const
  const dns = await openDns(t, zone, 60)
  const cluster = await testCluster(t, {}, `udp_max_flows_per_rule = ${maxFlows}\n`)
  writeConfig(cluster)
  const preload = join(import.meta.dirname, 'dns-servers.ts')
  const paris = await startAgent(t, cluster, 'paris', {
    env: { TEST_DNS: dns.address, NODE_OPTIONS: `--import=${preload}` },
    args: ['--config', agentFile(cluster)]
  })
  await cluster.call('POST', '/v1/users', { user_id: 'root', display_name: 'root', role: 'superadmin' })
  const tokens: Record<string, string> = {}
  for (const user_id of ['owen', 'olga', 'oona', 'quin', 'gail', 'tess', 'dora']) {
    await cluster.call('POST', '/v1/users', { user_id, display_name: user_id })
    const { token } = await cluster.call<{ token: string }>('POST', `/v1/users/${user_id}/credentials`, {
      label: 'test'
    })
    tokens[user_id] = token
  }
  return { cluster, paris, t, tokens, tls: makeCertificate(cluster.dir) }
}

async function ask({ cluster, tokens }: Edge, { as, ...question }: Question) {
  const begun = performance.now()
  const bearer = as === undefined ? undefined : tokens[as]
  const body = { client: 'paris', protocol: 'tcp', ...question }
  const answer = await cluster.call<Explanation>('POST', '/v1/explain', body, bearer)
  return { answer, tookMs: performance.now() - begun }
}

async function check(fault: Fault, edge: Edge): Promise<void> {
  const { t } = edge
  const question = await fault.seed(edge)
  const { answer, tookMs } = await ask(edge, question)
  const { outcome, decided_by, steps, targets } = answer
  const last = steps.at(-1)
  const [first] = targets
  const reason =
    outcome === 'forwarded'
      ? first?.error === undefined || targets.length > 1
        ? decided_by.reason
        : first.error
      : decided_by.reason
  t.equal(`${outcome} ${reason}`, fault.says, fault.name)
  if (outcome !== 'forwarded') t.equal(last?.verdict, 'stop', `${fault.name}: the last step`)
  if (fault.step) {
    const { reason, kind, text = /./ } = fault.step
    const told = steps.filter(one => one.reason === reason && [one.kind, undefined].includes(kind))
    t.ok(
      told.some(one => text.test(one.text)),
      `${fault.name}: a step`,
      { steps }
    )
  }
  if (fault.target) t.match(first, fault.target, `${fault.name}: the target`)
  t.ok(tookMs < limitMs, `${fault.name}: ${Math.round(tookMs)} ms`)
}

/** A user reads the deciding line first. */
async function checkCommand(edge: Edge): Promise<void> {
  const { cluster, t } = edge
  const { port } = await push(edge, { targets: [at(await freePort())] })
  const refused = await cluster.cli(['explain', `paris:${port}`, '--probe'])
  t.equal(refused.code, 1)
  const [first = '', second, empty, ...chain] = refused.stdout.trimEnd().split('\n')
  t.match(first, /^refused: connect_refused, by target 127\.0\.0\.1:\d+$/)
  t.match(second, /refuses connections: nothing listens there$/)
  t.equal(empty, '')
  t.same(
    chain.map(line => line.split(/ +/)[0]).filter(word => word !== ''),
    ['pass', 'pass', 'pass', 'stop']
  )
  t.ok(refused.stdout.split('\n').every(line => line.length <= 80))
  const none = await cluster.cli(['explain', `paris:${await freePort()}`, '--json'])
  t.equal(none.code, 8)
  t.match(JSON.parse(none.stdout), { outcome: 'no_rule' })
}

t.test(`each fault is named within 3 s (${engine} engine)`, { timeout: 120_000 }, async t => {
  const edge = await openEdge(t)
  const left = [...faults, ...refusals].values()
  const work = async (): Promise<void> => {
    for (const fault of left) await check(fault, edge)
  }
  await Promise.all([work(), work()]) // as many probes as a user may have
  await checkCommand(edge)
  for (const fault of later) await check(fault, edge)
})
