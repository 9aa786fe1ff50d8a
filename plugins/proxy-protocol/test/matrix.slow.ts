// Headers in and out over TCP, in versions 1 and 2, for each kind of rule, IPv4 and IPv6, and both engines. Uses a real
// server and agents, and nginx and HAProxy as receivers and senders. nginx cannot send version 2. See udp-matrix.slow.ts.
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { until } from '../../../test/engine/engine-fixture.ts'
import { freePort } from '../../../test/support/ports.ts'
import { startAgent, testCluster } from '../../../test/support/test-cluster.ts'
import { request, type Sender, skipReason, startProxies } from './proxies.ts'

const engines = ['native', 'portable'] as const
const kinds = ['tcp', 'range', 'targets', 'tls name'] as const
const receivers = ['nginx', 'haproxy'] as const
const forms: readonly Sender['form'][] = [
  'nginx, version 1',
  'haproxy, version 1',
  'haproxy, version 2',
  'haproxy, version 2 with values'
]
const hosts = ['127.0.0.1', '::1'] as const

type Kind = (typeof kinds)[number]

const name = 'shop.example.org'
const serverName = (kind: Kind): string | null => (kind === 'tls name' ? name : null)

interface Cell {
  readonly engine: string
  readonly kind: Kind
  readonly rule: number
  readonly sender: Sender
  readonly program: (typeof receivers)[number]
  readonly version: 1 | 2
}

const cells: Cell[] = []
for (const engine of engines)
  for (const kind of kinds)
    for (const form of forms)
      for (const program of receivers)
        for (const version of [1, 2] as const) {
          const rule = await freePort(2)
          const to = kind === 'range' ? rule + 1 : rule
          const sender = { form, to, listen: await freePort() }
          cells.push({ engine, kind, rule, sender, program, version })
        }

const cluster = await testCluster(t)
for (const engine of engines) await startAgent(t, cluster, engine, { env: { SVC_ENGINE: engine } })
const first = { nginx: await freePort(2), haproxy: await freePort(2) }
const receiver = async (program: (typeof receivers)[number]) => ({
  plain: [first[program], first[program] + 1],
  tls: await freePort()
})
const senders = cells.map(({ sender }) => sender)
const ports = { nginx: await receiver('nginx'), haproxy: await receiver('haproxy'), senders }
const logged = skipReason === false ? await startProxies(t, join(cluster.dir, 'proxies'), ports) : []
const dead = await freePort()

/** Creates a rule of the kind on two ports of the agent, and returns where callers reach the receiver. */
async function push(
  client: string,
  kind: Kind,
  program: (typeof receivers)[number],
  from: number,
  fields: object
): Promise<number> {
  const port = kind === 'tls name' ? ports[program].tls : first[program]
  const targets = [kind === 'targets' && dead, port]
  await cluster.call('POST', '/v1/rules', {
    client,
    listen_port: from,
    targets: targets.flatMap(port => (port === false ? [] : [{ host: '127.0.0.1', port }])),
    ...(kind === 'range' && { listen_port_end: from + 1 }),
    ...(kind === 'tls name' && { sni_pattern: name }),
    ...fields
  })
  return kind === 'range' ? from + 1 : from
}

t.test('nginx and HAProxy can read the headers that targets get', { skip: skipReason }, async t => {
  for (const engine of engines)
    for (const kind of kinds)
      for (const program of receivers)
        for (const version of [1, 2]) {
          const fields = { proxy_out: version }
          const port = await push(engine, kind, program, await freePort(2), fields)
          for (const host of hosts) {
            const { own, body } = await request(host, port, serverName(kind))
            const cell = `${engine}, ${kind}, ${program}, version ${version}, ${host}`
            const [source, sourcePort, destination, destinationPort, ...more] = body.split(' ')
            t.equal(`${source} ${sourcePort}`, own, cell)
            t.equal(`${destination} ${destinationPort}`, `${host} ${port}`, cell)
            if (program === 'nginx') continue
            t.match(more, version === 1 ? ['', ''] : [serverName(kind) ?? '', /^[0-9A-F]{32}$/], cell)
          }
        }
  await requireNothingRefused(t)
})

t.test('headers from nginx and HAProxy name the caller, also to targets', { skip: skipReason }, async t => {
  const ask = async ({ engine, kind, rule, program, version, sender }: Cell) => {
    await push(engine, kind, program, rule, { proxy_in: ['127.0.0.0/8'], proxy_out: version })
    for (const host of hosts) {
      const { own, body } = await request(host, sender.listen, serverName(kind))
      const cell = `${engine}, ${kind}, ${sender.form}, to ${program}, version ${version}, ${host}`
      t.equal(body.split(' ').slice(0, 4).join(' '), `${own} ${host} ${sender.listen}`, cell)
    }
  }
  await Promise.all(cells.map(ask))
  await requireNothingRefused(t)
})

t.test('a health check sends nginx and HAProxy a header without a caller', { skip: skipReason }, async t => {
  const noCaller = { nginx: /closed connection while waiting for request/, haproxy: /<BADREQ>/ }
  for (const engine of engines)
    for (const version of [1, 2]) {
      const before = logged.length
      const { rule_id: id } = await cluster.call<{ rule_id: string }>('POST', '/v1/rules', {
        ...{
          client: engine,
          listen_port: await freePort(),
          proxy_out: version,
          health_check_interval_secs: 1
        },
        targets: receivers.map(program => ({ host: '127.0.0.1', port: first[program] }))
      })
      await until(() =>
        receivers.every(program => logged.slice(before).some(line => noCaller[program].test(line)))
      )
      await cluster.call('DELETE', `/v1/rules/${id}`)
      const refused = logged.slice(before).filter(line => /PROXY/.test(line))
      t.same(refused, [], `${engine}, version ${version}`)
    }
})

async function requireNothingRefused(t: Test): Promise<void> {
  const rules = await cluster.call<{ rule_id: string }[]>('GET', '/v1/rules?limit=500')
  for (const { rule_id: id } of rules)
    t.match(await cluster.call('GET', `/v1/rules/${id}/stats`), { rejected: {} })
}
