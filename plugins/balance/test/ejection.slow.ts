// Real processes under load: no caller is lost while a target dies and returns, and shares follow the weights.
// BALANCE_CONNECTIONS: connections to count for the weights, default 600; the gate uses 100000.
import type { ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { connect } from 'node:net'
import { setTimeout as pause } from 'node:timers/promises'
import t, { type Test } from 'tap'
import { spawnChild } from '../../../test/support/child-process.ts'
import { freePort } from '../../../test/support/ports.ts'
import { startAgent, testCluster } from '../../../test/support/test-cluster.ts'

const connections = Number(process.env['BALANCE_CONNECTIONS'] ?? 600)
const callers = 16
const engines = ['native', 'portable'] as const
const cluster = await testCluster(t)
for (const engine of engines) await startAgent(t, cluster, engine, { env: { SVC_ENGINE: engine } })

const script = `require('net').createServer(socket => socket.on('error', () => {}).end(process.argv[1]))
  .listen(Number(process.argv[1]), '127.0.0.1', () => console.log('listening'))`

/** Starts a target in another process; it sends callers its port. */
async function startTarget(t: Test, port: number): Promise<ChildProcess> {
  const child = spawnChild(process.execPath, ['-e', script, String(port)], {
    stdio: ['ignore', 'pipe', 'inherit']
  })
  t.teardown(() => child.kill('SIGKILL'))
  await once(child.stdout, 'data')
  return child
}

/** Returns the data of the target; '' if the caller was refused. Callers use many addresses, so local ports suffice. */
function call(port: number, number: number): Promise<string> {
  const localAddress = `127.1.${(number >> 8) & 255}.${number & 255}`
  return new Promise(resolve => {
    let answer = ''
    const socket = connect({ port, host: '127.0.0.1', localAddress })
    socket.on('data', bytes => {
      answer += bytes
    })
    socket.on('error', () => {}).on('close', () => resolve(answer))
  })
}

/**
 * Calls concurrently until `isDone` and returns how often each target answered. `isCounted` decides at the start of each
 * call, because a connection that a killed process already accepted is lost.
 */
async function load(
  port: number,
  isDone: (made: number) => boolean,
  isCounted = () => true
): Promise<Record<string, number>> {
  const answers: Record<string, number> = {}
  let made = 0
  const caller = async (): Promise<void> => {
    while (!isDone(made)) {
      const counts = isCounted()
      const answer = (await call(port, made++)) || 'none'
      if (counts || answer !== 'none') answers[answer] = (answers[answer] ?? 0) + 1
    }
  }
  await Promise.all(Array.from({ length: callers }, caller))
  return answers
}

/** Reads until the value is as expected; only the timeout of the test ends it. */
async function until<T>(read: () => Promise<T>, isExpected: (value: T) => boolean): Promise<T> {
  for (;;) {
    const value = await read()
    if (isExpected(value)) return value
    await pause(50)
  }
}

interface Shown {
  readonly targets: readonly {
    readonly health: {
      readonly state: string
      readonly ejected_until: string | null
      readonly ejected_reason: string
    }
  }[]
}

async function openRule(client: string, ports: readonly number[], body: object) {
  const listen_port = await freePort()
  const targets = ports.map((port, at) => ({ host: '127.0.0.1', port, weight: [5, 3, 2][at] ?? 1 }))
  const { rule_id: id } = await cluster.call<{ rule_id: string }>('POST', '/v1/rules', {
    client,
    listen_port,
    targets,
    ...body
  })
  const first = () => cluster.call<Shown>('GET', `/v1/rules/${id}`).then(({ targets }) => targets[0]?.health)
  return { id, port: listen_port, first }
}

for (const engine of engines) {
  t.test(
    `no connection fails while one of three targets dies and returns under load (${engine})`,
    async t => {
      const ports = [await freePort(), await freePort(), await freePort()]
      const [dying] = await Promise.all(ports.map(port => startTarget(t, port)))
      const { id, port, first } = await openRule(engine, ports, { balance: 'least_connections' })
      let isDone = false
      let isDead = false
      dying?.once('exit', () => {
        isDead = true
      })
      const loaded = load(
        port,
        () => isDone,
        () => isDead
      )

      dying?.kill('SIGKILL')
      const isOut = (health: Awaited<ReturnType<typeof first>>) =>
        health?.ejected_until != null && health.ejected_reason !== 'failed' // the counters can be ahead of the reason
      const out = await until(first, isOut)
      t.match(out, { state: 'failed', ejected_reason: /refused|reset/ })
      await startTarget(t, ports[0] ?? 0)
      const back = await until(first, health => health?.state === 'healthy' && health.ejected_until === null)
      t.ok(back)
      isDone = true
      const answers = await loaded

      t.equal(answers['none'], undefined, JSON.stringify(answers))
      t.same(Object.keys(answers).sort(), ports.map(String).sort())
      const journal = `/v1/rules/${id}/journal?kind=target`
      const entries = await until(
        () => cluster.call<{ readonly to: string }[]>('GET', journal),
        all => all[0]?.to === 'healthy'
      )
      t.ok(entries.some(({ to }) => to === 'ejected'))
    }
  )

  t.test(`${connections} connections follow the weights within 1 % (${engine})`, async t => {
    const ports = [await freePort(), await freePort(), await freePort()]
    await Promise.all(ports.map(port => startTarget(t, port)))
    const { port } = await openRule(engine, ports, { balance: 'weighted' })

    const answers = await load(port, made => made >= connections)

    const made = Object.values(answers).reduce((sum, count) => sum + count)
    for (const [at, share] of [0.5, 0.3, 0.2].entries()) {
      const count = answers[String(ports[at])] ?? 0
      t.ok(Math.abs(count / made - share) <= 0.01, `${count} of ${made} are about ${share}`)
    }
  })
}
