// Guarantees that hold from the response to a change on, measured with real callers: a pause admits nobody, a moved port
// refuses nobody, and a rule for an offline client is active once the client is online. Prints its measurements.
import { createSocket } from 'node:dgram'
import { once } from 'node:events'
import { createServer } from 'node:net'
import { setTimeout as after } from 'node:timers/promises'
import t, { type Test } from 'tap'
import { engines } from '../matrix/world.ts'
import { freePort } from '../support/ports.ts'
import { startAgent, type TestCluster, testCluster } from '../support/test-cluster.ts'
import { readAnswer } from './read-answer.ts'

const host = '127.0.0.1'
const pauses = Number(process.env['PAUSES'] ?? 5) // 50 for a manual run
const stormRate = Number(process.env['STORM_RATE'] ?? 1000) // callers a second
const stormSecs = 2

interface Rule {
  readonly rule_id: string
  readonly listen_port: number
}

async function openTargets(t: Test) {
  const tcp = createServer(socket => socket.on('error', () => {}).end('a')).listen({
    port: 0,
    host,
    backlog: 4096
  })
  const udp = createSocket('udp4', (bytes, from) => udp.send(bytes, from.port, from.address)).bind(0, host)
  await Promise.all([once(tcp, 'listening'), once(udp, 'listening')])
  t.teardown(() => {
    tcp.close()
    udp.close()
  })
  const { port } = tcp.address() as { readonly port: number } // a TCP address
  return { tcp: [{ host, port }], udp: [{ host, port: udp.address().port }] }
}

const create = async (cluster: TestCluster, body: object) =>
  cluster.call<Rule>('POST', '/v1/rules', { client: 'edge', listen_port: await freePort(), ...body })

/** Dials continuously. `lastServedAt` is the start time of the last served caller. */
function openCallers(port: number, count: number) {
  let lastServedAt = 0
  let isCalling = true
  const served = { count: 0 }
  const loop = async () => {
    for (; isCalling; await after(1)) {
      const at = performance.now()
      if ((await readAnswer(port)) !== 'a') continue
      lastServedAt = Math.max(lastServedAt, at)
      served.count++
    }
  }
  const done = Promise.all(Array.from({ length: count }, loop))
  return {
    served,
    lastServedAt: () => lastServedAt,
    stop: () => {
      isCalling = false
      return done
    }
  }
}

/** Opens a flow every 5 ms, each from a new address. `lastServedAt` is the send time of the last answered datagram. */
function openFlows(t: Test, port: number) {
  let lastServedAt = 0
  const served = { count: 0 }
  let flows = 0
  const send = () => {
    const at = performance.now()
    const from = `127.1.${++flows >> 8}.${flows & 255}`
    const socket = createSocket('udp4', () => {
      lastServedAt = Math.max(lastServedAt, at)
      served.count++
    }).on('error', () => {})
    socket.bind(0, from, () => socket.send('x', port, host))
    setTimeout(() => socket.close(), 300)
  }
  const timer = setInterval(send, 5)
  t.teardown(() => clearInterval(timer))
  return { served, lastServedAt: () => lastServedAt, stop: () => clearInterval(timer) }
}

function spread(values: readonly number[]): string {
  const sorted = [...values].sort((a, b) => a - b)
  const at = (share: number) =>
    sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))]?.toFixed(1)
  return `median ${at(0.5)}, p90 ${at(0.9)}, most ${at(1)} ms`
}

for (const engine of engines)
  t.test(`a pause admits nobody after its response, on the ${engine} engine`, async t => {
    const cluster = await testCluster(t)
    const edge = await startAgent(t, cluster, 'edge', { env: { SVC_ENGINE: engine, SVC_LOG_LEVEL: 'info' } })
    const targets = await openTargets(t)
    const tcp = await create(cluster, { targets: targets.tcp })
    const udp = await create(cluster, { protocol: 'udp', targets: targets.udp })
    const flows = openFlows(t, udp.listen_port)
    const callers = openCallers(tcp.listen_port, 8)
    const waits = { answers: [] as number[], tcp: [] as number[], udp: [] as number[] }

    for (let round = 0; round < pauses; round++) {
      const before = [callers.served.count, flows.served.count]
      while (callers.served.count < (before[0] ?? 0) + 50 || flows.served.count < (before[1] ?? 0) + 5)
        await after(5)
      const askedAt = performance.now()
      await Promise.all([tcp, udp].map(({ rule_id }) => cluster.call('POST', `/v1/rules/${rule_id}/pause`)))
      const answeredAt = performance.now()
      await after(150)
      waits.answers.push(answeredAt - askedAt)
      waits.tcp.push(Math.max(0, callers.lastServedAt() - answeredAt))
      waits.udp.push(Math.max(0, flows.lastServedAt() - answeredAt))
      if (round === 0) {
        cluster.server.signal('SIGKILL')
        edge.agent.signal('SIGKILL')
        await Promise.all([cluster.server.exit, edge.agent.exit])
        edge.restart()
        await edge.agent.until('rule.not_listening', event => event['rule'] === tcp.rule_id)
        await cluster.restart()
        await edge.agent.until('control.connected')
        t.ok(callers.lastServedAt() < answeredAt + 100, 'nobody is admitted while both restart')
        t.ok(flows.lastServedAt() < answeredAt + 100)
      }
      for (const { rule_id } of [tcp, udp]) await cluster.call('POST', `/v1/rules/${rule_id}/resume`)
    }
    await callers.stop()
    flows.stop()

    t.comment(
      `${pauses} pauses; responses ${spread(waits.answers)}; the last caller after the response: TCP ${spread(waits.tcp)}, UDP ${spread(waits.udp)}`
    )
    for (const ms of [...waits.tcp, ...waits.udp]) t.ok(ms <= 100, `${ms} ms`)
  })

for (const engine of engines)
  t.test(
    `moving a port under ${stormRate} callers a second refuses nobody, on the ${engine} engine`,
    async t => {
      const cluster = await testCluster(t)
      await startAgent(t, cluster, 'edge', { env: { SVC_ENGINE: engine, SVC_LOG_LEVEL: 'info' } })
      const targets = await openTargets(t)
      const rule = await create(cluster, { targets: targets.tcp })
      let port = rule.listen_port
      let isMoving = false
      let begun = 0
      const settled: Record<string, number> = {} // answers of the port in the last response, while no move is under way
      const moving: Record<string, number> = {} // answers of a port that a move leaves
      const running = new Set<Promise<void>>()
      const begin = () => {
        const to = port
        const wasMoving = isMoving
        begun++
        const one = readAnswer(to).then(answer => {
          running.delete(one)
          const counts = wasMoving || isMoving || to !== port ? moving : settled
          counts[answer] = (counts[answer] ?? 0) + 1
        })
        running.add(one)
      }
      const startedAt = performance.now()
      const timer = setInterval(() => {
        const due = Math.floor(((performance.now() - startedAt) * stormRate) / 1000)
        while (begun < due) begin()
      }, 2)
      t.teardown(() => clearInterval(timer))

      const moves: number[] = []
      while (performance.now() - startedAt < stormSecs * 1000) {
        await after(300)
        const next = await freePort()
        isMoving = true
        const askedAt = performance.now()
        await cluster.call('PATCH', `/v1/rules/${rule.rule_id}`, { listen_port: next })
        moves.push(performance.now() - askedAt)
        port = next
        isMoving = false
      }
      clearInterval(timer)
      const rate = (begun * 1000) / (performance.now() - startedAt)
      await Promise.all(running)

      t.comment(
        `${begun} callers, ${rate.toFixed(0)} a second; ${moves.length} moves, responses ${spread(moves)}; ${JSON.stringify({ settled, moving })}`
      )
      t.same(Object.keys(settled), ['a'], 'the port in the last response serves all callers')
    }
  )

t.test('a rule for an offline client is active once the client is online', async t => {
  const cluster = await testCluster(t)
  const edge = await startAgent(t, cluster, 'edge', { env: { SVC_LOG_LEVEL: 'info' } })
  const targets = await openTargets(t)
  const waits: number[] = []
  for (let round = 0; round < 3; round++) {
    edge.agent.signal('SIGKILL')
    await edge.agent.exit
    await cluster.server.until('client.disconnected', () => true, cluster.server.events.length - 5)
    const rule = await create(cluster, { targets: targets.tcp, if_offline: 'queue' })
    t.match(rule, { state: 'pending' })

    edge.restart()
    await edge.agent.until('control.connected')
    const connectedAt = performance.now()
    while ((await readAnswer(rule.listen_port)) !== 'a') await after(2)
    waits.push(performance.now() - connectedAt)
    await edge.agent.until('rule.opened', event => event['rule'] === rule.rule_id)
    let state = ''
    while (state !== 'active')
      ({ state } = await cluster.call<{ state: string }>('GET', `/v1/rules/${rule.rule_id}`))
  }
  t.comment(`time until active, from the agent's connection: ${spread(waits)}`)
})
