// Two plugins with a rule field are enabled, changed and disabled one by one. Nothing else is affected.
import { once } from 'node:events'
import { cpSync, readFileSync, writeFileSync } from 'node:fs'
import { connect, createServer, type Socket } from 'node:net'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { until } from '../../plugins/rules/test/fixture.ts'
import { freePort } from '../support/ports.ts'
import { type RunningAgent, startAgent, type TestCluster, testCluster } from '../support/test-cluster.ts'

type Name = 'expiry' | 'weekly-hours'

/** A server and an agent with the same plugins and separate configuration files. */
class Fleet {
  readonly cluster: TestCluster
  readonly edge: RunningAgent
  readonly agentFile: string
  readonly target: number

  constructor(cluster: TestCluster, edge: RunningAgent, agentFile: string, target: number) {
    this.cluster = cluster
    this.edge = edge
    this.agentFile = agentFile
    this.target = target
  }

  async restartServer(names: readonly Name[]): Promise<void> {
    const { cluster, edge } = this
    const before = edge.agent.events.length
    cluster.server.signal('SIGTERM')
    await cluster.server.exit
    cluster.configure(sectionsOf(names))
    await cluster.restart()
    await edge.agent.until('control.connected', () => true, before)
  }

  /** Resolves with the event that ends the reload, after the agent has reconnected. */
  async reload(text: string) {
    const { agent } = this.edge
    writeFileSync(this.agentFile, text)
    const before = agent.events.length
    agent.signal('SIGHUP')
    const ends = ['agent.reloaded', 'agent.reload_refused'].map(name => agent.until(name, () => true, before))
    const ended = await Promise.race(ends)
    if (ended.event === 'agent.reloaded') await agent.until('control.connected', () => true, before)
    return ended
  }

  async createRule(fields: object): Promise<Rule> {
    const listen_port = await freePort()
    const rule = {
      client: 'edge',
      listen_port,
      targets: [{ host: '127.0.0.1', port: this.target }],
      ...fields
    }
    const { rule_id: id } = await this.cluster.call<{ rule_id: string }>('POST', '/v1/rules', rule)
    return { id, port: listen_port }
  }

  stateOf = ({ id }: Rule) =>
    this.cluster.call<{ state: string; state_reason: string }>('GET', `/v1/rules/${id}`)
}

interface Rule {
  readonly id: string
  readonly port: number
}

const sectionsOf = (names: readonly Name[]): string => names.map(name => `[plugins."./${name}"]\n`).join('')

/** A caller that keeps its connection open. `talks` resolves when its bytes have come back. */
async function call(t: Test, { port }: Rule) {
  const socket: Socket = connect(port, '127.0.0.1')
  t.teardown(() => void socket.destroy())
  await once(socket, 'connect')
  return async (): Promise<void> => {
    const back = once(socket, 'data')
    socket.write('ping')
    await back
  }
}

async function openFleet(t: Test): Promise<Fleet> {
  const echo = createServer(socket => socket.pipe(socket).on('error', () => {})).listen(0, '127.0.0.1')
  t.teardown(() => void echo.close())
  await once(echo, 'listening')
  const cluster = await testCluster(t)
  for (const name of ['expiry', 'weekly-hours'])
    cpSync(join(import.meta.dirname, '..', 'third-party', name), join(cluster.dir, name), { recursive: true })
  const agentFile = join(cluster.dir, 'agent.toml')
  writeFileSync(agentFile, '')
  const edge = await startAgent(t, cluster, 'edge', { args: ['--config', agentFile] })
  return new Fleet(cluster, edge, agentFile, (echo.address() as { readonly port: number }).port)
}

const expiring = () => ({ ends_at: new Date(Date.now() + 3_600_000).toISOString() })
const days = ['mon', 'tue', 'wed', 'thu', 'fri', 'sat', 'sun']
const scheduled = { weekly_hours: { time_zone: 'UTC', windows: [{ days, from: '00:00', to: '24:00' }] } }
const both = sectionsOf(['expiry', 'weekly-hours'])

t.test('enabling, upgrading and disabling a plugin breaks no connection of other rules', async t => {
  const fleet = await openFleet(t)
  const plain = await fleet.createRule({})
  const callers = [await call(t, plain)]
  const allTalk = (): Promise<unknown> => Promise.all(callers.map(talks => talks()))

  await fleet.restartServer(['expiry'])
  t.match(await fleet.reload(sectionsOf(['expiry'])), { ended: [], started: ['expiry'] })
  await allTalk()
  const ending = await fleet.createRule(expiring())
  callers.push(await call(t, ending))

  await fleet.restartServer(['expiry', 'weekly-hours'])
  t.match(await fleet.reload(both), { ended: [], started: ['weekly-hours'] })
  const weekly = await fleet.createRule(scheduled)
  callers.push(await call(t, weekly))
  await allTalk()

  const agentHalf = join(fleet.cluster.dir, 'expiry', 'field.ts')
  const old = readFileSync(agentHalf, 'utf8')
  writeFileSync(agentHalf, old.replace("since: '1.0.0'", "since: '1.1.0'"))
  t.match(await fleet.reload(both), { event: 'agent.reload_refused', msg: /sluice plugin trust \.\/expiry/ })
  await allTalk()
  const trust = ['plugin', 'trust', './expiry', '--config', fleet.agentFile]
  t.equal((await fleet.cluster.cli(trust)).code, 0)
  t.match(await fleet.reload(both), { ended: ['expiry'], started: ['expiry'] })
  await allTalk()
  const edge = `/v1/clients/${fleet.edge.clientId}`
  await until(
    () => fleet.cluster.call<{ capabilities: Record<string, string> }>('GET', edge),
    ({ capabilities }) => capabilities['rule.expires-at'] === '1.1.0'
  )

  t.match(await fleet.reload(`${both}live = "hold"\n`), {
    ended: ['weekly-hours'],
    started: ['weekly-hours']
  })
  await allTalk()

  t.match(await fleet.reload(sectionsOf(['weekly-hours'])), {
    ended: ['expiry', 'weekly-hours'],
    started: ['weekly-hours']
  })
  await t.rejects(
    call(t, ending),
    { code: 'ECONNREFUSED' },
    'without the plugin the rule could admit forbidden callers'
  )
  await until(
    () => fleet.stateOf(ending),
    ({ state }) => state === 'failed'
  )
  await allTalk()
  await fleet.restartServer(['weekly-hours'])
  await Promise.all([callers[0]?.(), callers[2]?.()])

  await fleet.restartServer(['expiry', 'weekly-hours'])
  t.match(await fleet.reload(both), { ended: [], started: ['expiry'] })
  await until(
    () => fleet.stateOf(ending),
    ({ state }) => state === 'active'
  )
  await (await call(t, ending))()
  await Promise.all([callers[0]?.(), callers[2]?.()])
})

t.test('a plugin that cannot be loaded or started changes nothing', async t => {
  const fleet = await openFleet(t)
  const refusedFor = async (text: string, why: RegExp): Promise<void> =>
    void t.match(await fleet.reload(text), { event: 'agent.reload_refused', msg: why })
  await fleet.restartServer(['expiry'])
  await fleet.reload(sectionsOf(['expiry']))
  const ending = await fleet.createRule(expiring())
  const talks = await call(t, ending)

  await refusedFor('[plugins.', /agent\.toml/)
  await refusedFor(`${sectionsOf(['expiry'])}live = "hold"\n`, /plugins\."\.\/expiry"\.live/)
  writeFileSync(
    join(fleet.cluster.dir, 'weekly-hours', 'agent.ts'),
    `export default { name: 'weekly-hours', agent: '^1.1.0', start() { throw new Error('no clock') } }`
  )
  await refusedFor(both, /no clock/)
  await talks()
  await (await call(t, ending))()
  t.match(await fleet.reload(sectionsOf(['expiry'])), { ended: [], started: [] })
  await talks()
})

t.test('a reload applies guardrails and log level, and names other changed keys', async t => {
  const fleet = await openFleet(t)
  const rule = await fleet.createRule({})
  const other = await fleet.createRule({})
  const talks = await call(t, other)

  await fleet.reload(`allow_ports = [${other.port}]\nthreads = 2\n`)
  await fleet.edge.agent.until('agent.restart_needed', ({ keys }) => String(keys) === 'threads')
  await t.rejects(call(t, rule), { code: 'ECONNREFUSED' })
  t.match(
    await until(
      () => fleet.stateOf(rule),
      ({ state }) => state === 'failed'
    ),
    { state_reason: /denied_by_agent|agent/ }
  )
  await talks()

  await fleet.reload('')
  await until(
    () => fleet.stateOf(rule),
    ({ state }) => state === 'active'
  )
  await (await call(t, rule))()
  await talks()
})
