// Changes rules under live traffic, with a real server and a real agent, on both engines: no connection is closed, no
// byte is lost, new callers reach the new target, and the counters are exact. `RULE_CHANGES=1000` makes 1000 changes.
import { createSocket, type Socket as Datagrams } from 'node:dgram'
import { once } from 'node:events'
import { connect, createServer, type Socket } from 'node:net'
import { setTimeout as after } from 'node:timers/promises'
import t, { type Test } from 'tap'
import { clientHello } from '../engine/client-hellos.ts'
import { until } from '../engine/engine-fixture.ts'
import { engines } from '../matrix/world.ts'
import { freePort } from '../support/ports.ts'
import { startAgent, statsOf, type TestCluster, testCluster } from '../support/test-cluster.ts'
import { readTargetName } from './read-answer.ts'

const host = '127.0.0.1'
const changes = Number(process.env['RULE_CHANGES'] ?? 100)
const changesPerRule = changes / 5
const live = { small: 200, bulk: 20, names: 60, range: 20, udp: 200 } // 500 connections and flows
const bulkBytes = 64 * 1024
const pauseMs = 50 // between two exchanges of a connection, so that the machine is busy but not overloaded

interface Rule {
  readonly id: string
  readonly port: number
}

interface Target {
  readonly port: number
  readonly name: string
}

/** Sends its name on each connection, then echoes. */
async function openTcpTarget(t: Test, name: string, port = 0): Promise<Target> {
  const sockets = new Set<Socket>()
  const server = createServer(socket => {
    sockets.add(socket)
    socket.on('error', () => {}).write(name)
    socket.pipe(socket)
  }).listen(port, host)
  await once(server, 'listening')
  t.teardown(() => {
    for (const socket of sockets) socket.destroy()
    server.close()
  })
  return { port: (server.address() as { readonly port: number }).port, name } // a TCP address
}

/** Echoes each datagram after its name. */
async function openUdpTarget(t: Test, name: string): Promise<Target> {
  const socket = createSocket('udp4')
  socket.on('message', (bytes, from) => socket.send(name + bytes, from.port, from.address))
  socket.bind(0, host)
  await once(socket, 'listening')
  t.teardown(() => void socket.close())
  return { port: socket.address().port, name }
}

/** A connection that counts sent and echoed bytes. */
class Caller {
  readonly socket: Socket
  sent = 0
  received = 0
  closed = false
  #wanted = 0
  #arrived = () => {}

  constructor(t: Test, port: number) {
    this.socket = connect(port, host)
    this.socket.on('data', chunk => {
      this.received += chunk.length
      if (this.received >= this.#wanted) this.#arrived()
    })
    this.socket
      .on('error', () => {})
      .on('close', () => {
        this.closed = true
        this.#arrived()
      })
    t.teardown(() => void this.socket.destroy())
  }

  /** Resolves when the connection is closed, also by a reset. */
  async end(): Promise<void> {
    if (!this.closed) await new Promise(resolve => this.socket.once('close', resolve))
  }

  /** Resolves with true once the target's name and all sent bytes have come back. */
  async exchange(bytes: Buffer): Promise<boolean> {
    this.sent += bytes.length
    this.#wanted = 1 + this.sent
    const arrived = new Promise<void>(resolve => {
      this.#arrived = resolve
    })
    this.socket.write(bytes)
    if (this.received < this.#wanted && !this.closed) await arrived
    return !this.closed
  }
}

async function udpCaller(t: Test, port: number): Promise<Datagrams> {
  const socket = createSocket('udp4')
  socket.connect(port, host)
  await once(socket, 'connect')
  t.teardown(() => void socket.close())
  return socket
}

async function udpExchange(socket: Datagrams): Promise<string> {
  const answer = once(socket, 'message')
  socket.send('ping')
  const [bytes] = (await answer) as [Buffer]
  return bytes.toString('latin1', 0, 1)
}

async function createRule(cluster: TestCluster, body: object, width = 1): Promise<Rule> {
  const listen_port = await freePort(width)
  const { rule_id: id } = await cluster.call<{ rule_id: string }>('POST', '/v1/rules', {
    client: 'edge',
    listen_port,
    ...(width > 1 && { listen_port_end: listen_port + width - 1 }),
    ...body
  })
  return { id, port: listen_port }
}

const targetsOf = ({ port }: Target) => [{ host, port }]

for (const engine of engines)
  t.test(
    `${changes} changes of targets under 500 live connections break none, on the ${engine} engine`,
    async t => {
      const cluster = await testCluster(t)
      await startAgent(t, cluster, 'edge', { env: { SVC_ENGINE: engine, SVC_LOG_LEVEL: 'info' } })
      const a = await openTcpTarget(t, 'a')
      const b = await openTcpTarget(t, 'b')
      const ua = await openUdpTarget(t, 'a')
      const ub = await openUdpTarget(t, 'b')
      const hello = await clientHello({ servername: 'shop.test' })
      const small = await createRule(cluster, { targets: targetsOf(a) })
      const bulk = await createRule(cluster, { targets: targetsOf(a) })
      const named = await createRule(cluster, { targets: targetsOf(a), sni_pattern: 'shop.test' })
      const range = await createRule(cluster, { targets: targetsOf(a) }, 4)
      const udp = await createRule(cluster, { protocol: 'udp', targets: targetsOf(ua) })
      const of = (count: number, { port }: Rule) => Array.from({ length: count }, () => new Caller(t, port))
      const callers = {
        small: of(live.small, small),
        bulk: of(live.bulk, bulk),
        names: of(live.names, named),
        range: of(live.range, range)
      }
      await Promise.all(callers.names.map(caller => caller.exchange(hello)))
      const flows = await Promise.all(Array.from({ length: live.udp }, () => udpCaller(t, udp.port)))
      let isChanging = true
      const wrong: string[] = []
      const talk = async (caller: Caller, bytes: Buffer, kind: string) => {
        for (; isChanging; await after(pauseMs))
          if (!(await caller.exchange(bytes))) return void wrong.push(`a ${kind} connection was closed`)
      }
      let datagrams = 0
      const flow = async (socket: Datagrams) => {
        for (; isChanging; await after(pauseMs)) {
          if ((await udpExchange(socket)) !== 'a') wrong.push('a flow reached another target')
          datagrams++
        }
      }
      const ping = Buffer.alloc(64, 1)
      const block = Buffer.alloc(bulkBytes, 2)
      const traffic = [
        ...[...callers.small, ...callers.names, ...callers.range].map(caller => talk(caller, ping, 'small')),
        ...callers.bulk.map(caller => talk(caller, block, 'bulk')),
        ...flows.map(flow)
      ]
      await until(() => callers.bulk.every(({ received }) => received > bulkBytes))

      const waits: number[] = []
      const change = async (rule: Rule, to: Target, reach: () => Promise<string>) => {
        await cluster.call('PATCH', `/v1/rules/${rule.id}`, { targets: targetsOf(to) })
        const answeredAt = performance.now()
        while ((await reach()) !== to.name)
          wrong.push(`a new caller after the response did not reach ${to.name}`)
        waits.push(performance.now() - answeredAt)
      }
      const newFlow = async () => udpExchange(await udpCaller(t, udp.port))
      for (let at = 0; at < changesPerRule; at++) {
        const [to, udpTo] = at % 2 ? [a, ua] : [b, ub]
        for (const rule of [small, bulk, range]) await change(rule, to, () => readTargetName(rule.port, ping))
        await change(named, to, () => readTargetName(named.port, hello))
        await change(udp, udpTo, newFlow)
      }
      isChanging = false
      await Promise.all(traffic)

      t.same([...new Set(wrong)], [])
      waits.sort((one, other) => one - other)
      t.comment(
        `${waits.length} changes; new callers reached the new target ${waits[Math.floor(waits.length * 0.99)]} ms (p99) after the response`
      )
      for (const [kind, rule] of [
        ['small', small],
        ['bulk', bulk],
        ['names', named],
        ['range', range]
      ] as const) {
        const own = callers[kind]
        t.equal(own.filter(({ closed }) => closed).length, 0, `${kind}: no connection is closed`)
        t.ok(
          own.every(({ sent, received }) => received === sent + 1),
          `${kind}: every byte came back`
        )
        const sent = own.reduce((sum, caller) => sum + caller.sent, 0)
        const more = changesPerRule * (kind === 'names' ? hello.length : ping.length)
        for (const { socket } of own) socket.end()
        const stats = await statsOf(cluster, rule.id, ({ bytes_in }) => bytes_in >= sent + more)
        t.equal(stats.bytes_in, sent + more, `${kind}: the counters are exact`)
        t.equal(stats.connections_total, own.length + changesPerRule)
      }
      const stats = await statsOf(
        cluster,
        udp.id,
        ({ datagrams_in }) => datagrams_in >= datagrams + changesPerRule
      )
      t.equal(stats.datagrams_in, datagrams + changesPerRule)
      t.equal(stats.datagrams_out, datagrams + changesPerRule)
    }
  )

for (const engine of engines)
  t.test(`a port can move under a storm of callers, on the ${engine} engine`, async t => {
    const cluster = await testCluster(t)
    await startAgent(t, cluster, 'edge', { env: { SVC_ENGINE: engine, SVC_LOG_LEVEL: 'info' } })
    const rule = await createRule(cluster, { targets: targetsOf(await openTcpTarget(t, 'a')) })
    const live = new Caller(t, rule.port)
    t.ok(await live.exchange(Buffer.from('before')))
    const ports = [rule.port, await freePort()] as const
    const refused: string[] = []

    for (const to of [1, 0, 1, 0, 1] as const) {
      let answered = false
      let served = 0
      const storm = async () => {
        while (served < 500) {
          const mustBeServed = answered
          const name = await readTargetName(ports[to], Buffer.from('x')).catch(String)
          if (name === 'a') served++
          else if (mustBeServed) refused.push(name)
        }
      }
      const storms = Array.from({ length: 8 }, storm)
      await cluster.call('PATCH', `/v1/rules/${rule.id}`, { listen_port: ports[to] })
      answered = true
      await Promise.all(storms)
      await t.rejects(readTargetName(ports[to === 1 ? 0 : 1], Buffer.from('x')), { code: 'ECONNREFUSED' })
    }
    t.same(refused, [])

    t.ok(await live.exchange(Buffer.from('after')), 'a connection through the first port drains')
    const { listen_port } = await cluster.call<{ listen_port: number }>('GET', `/v1/rules/${rule.id}`)
    t.equal(listen_port, ports[1])
  })

for (const engine of engines)
  t.test(`a pause survives kill -9 of agent and server, on the ${engine} engine`, async t => {
    const cluster = await testCluster(t)
    const edge = await startAgent(t, cluster, 'edge', { env: { SVC_ENGINE: engine, SVC_LOG_LEVEL: 'info' } })
    const targets = targetsOf(await openTcpTarget(t, 'a'))
    const rule = await createRule(cluster, { targets })
    const udp = await createRule(cluster, {
      protocol: 'udp',
      targets: targetsOf(await openUdpTarget(t, 'a'))
    })
    const other = await createRule(cluster, { targets })
    const live = new Caller(t, rule.port)
    const flow = await udpCaller(t, udp.port)
    t.ok(await live.exchange(Buffer.from('before')))
    t.equal(await udpExchange(flow), 'a')
    const name = ({ port }: Rule) => readTargetName(port, Buffer.from('x'))
    const stateOf = async ({ id }: Rule) =>
      (await cluster.call<{ state: string }>('GET', `/v1/rules/${id}`)).state

    await cluster.call('POST', `/v1/rules/${rule.id}/pause`)
    await cluster.call('POST', `/v1/rules/${udp.id}/pause`)
    await cluster.call('POST', `/v1/rules/${rule.id}/pause`)
    await t.rejects(name(rule), { code: 'ECONNREFUSED' })
    t.equal(await stateOf(rule), 'paused')
    t.ok(await live.exchange(Buffer.from('after')), 'a live connection continues')
    t.equal(await udpExchange(flow), 'a', 'a live flow continues')

    cluster.server.signal('SIGKILL')
    edge.agent.signal('SIGKILL')
    await Promise.all([cluster.server.exit, edge.agent.exit])
    edge.restart()
    await edge.agent.until('rule.opened', event => event['rule'] === other.id)
    t.equal(await name(other), 'a')
    await t.rejects(name(rule), { code: 'ECONNREFUSED' }, 'without the server')
    await cluster.restart()
    await edge.agent.until('control.connected')
    await t.rejects(name(rule), { code: 'ECONNREFUSED' }, 'with the server')
    t.equal(await stateOf(rule), 'paused')

    for (const { id } of [rule, udp, rule]) await cluster.call('POST', `/v1/rules/${id}/resume`)
    t.equal(await name(rule), 'a')
    t.equal(await udpExchange(await udpCaller(t, udp.port)), 'a')
    t.equal(await stateOf(rule), 'active')
    await cluster.call('PATCH', `/v1/rules/${rule.id}?existing=cut`, { paused: true })
    await t.rejects(name(rule), { code: 'ECONNREFUSED' })
  })

for (const engine of engines)
  t.test(
    `existing and the drain timeout decide how live connections end, on the ${engine} engine`,
    async t => {
      const cluster = await testCluster(t, {}, 'drain_timeout_secs = 1\n')
      await startAgent(t, cluster, 'edge', { env: { SVC_ENGINE: engine, SVC_LOG_LEVEL: 'info' } })
      const a = await openTcpTarget(t, 'a')
      const b = await openTcpTarget(t, 'b')
      const targets = targetsOf(a)
      const kept = await createRule(cluster, { targets })
      const drained = await createRule(cluster, { targets })
      const cut = await createRule(cluster, { targets })
      const udp = await createRule(cluster, {
        protocol: 'udp',
        targets: targetsOf(await openUdpTarget(t, 'a'))
      })
      const ping = Buffer.from('ping')
      const callerOf = async ({ port }: Rule) => {
        const caller = new Caller(t, port)
        await caller.exchange(ping)
        return caller
      }
      const live = {
        kept: await callerOf(kept),
        drained: await callerOf(drained),
        cut: await callerOf(cut)
      }
      const flow = await udpCaller(t, udp.port)
      t.equal(await udpExchange(flow), 'a')

      await cluster.call('PATCH', `/v1/rules/${kept.id}`, { targets: targetsOf(b) })
      await cluster.call('PATCH', `/v1/rules/${drained.id}?existing=drain`, { targets: targetsOf(b) })
      await cluster.call('PATCH', `/v1/rules/${cut.id}?existing=cut`, { targets: targetsOf(b) })
      await live.cut.end()
      await live.drained.end() // after the drain, during which the connection continues
      t.ok(await live.kept.exchange(ping), 'keep: it continues')
      for (const rule of [kept, drained, cut]) t.equal(await readTargetName(rule.port, ping), 'b')

      await cluster.call('PATCH', `/v1/rules/${udp.id}?existing=cut`, { paused: true })
      const { active_flows } = await statsOf(cluster, udp.id, stats => stats.active_flows === 0)
      t.equal(active_flows, 0, 'a flow ends when its rule is paused with cut')
    }
  )

for (const engine of engines)
  t.test(`shrinking a range drains the removed ports, on the ${engine} engine`, async t => {
    const cluster = await testCluster(t, {}, 'drain_timeout_secs = 1\n')
    await startAgent(t, cluster, 'edge', { env: { SVC_ENGINE: engine, SVC_LOG_LEVEL: 'info' } })
    const targetPort = await freePort(2)
    const a = await openTcpTarget(t, 'a', targetPort)
    const b = await openTcpTarget(t, 'b', targetPort + 1)
    const range = await createRule(cluster, { targets: targetsOf(a) }, 2)
    const stays = new Caller(t, range.port)
    const goes = new Caller(t, range.port + 1)
    const ping = Buffer.from('ping')
    t.ok(await stays.exchange(ping))
    t.ok(await goes.exchange(ping))
    t.equal(await readTargetName(range.port + 1, ping), b.name)

    await cluster.call('PATCH', `/v1/rules/${range.id}`, { listen_port_end: null })
    await t.rejects(readTargetName(range.port + 1, ping), { code: 'ECONNREFUSED' })
    await goes.end() // after the drain
    t.ok(await stays.exchange(ping), 'the connection through the remaining port continues')
    t.equal(await readTargetName(range.port, ping), a.name)
  })
