// A real server, agents with either engine, and real targets: tests spreading, failover and draining.
import { once } from 'node:events'
import { writeFileSync } from 'node:fs'
import { connect, createServer, type Server, type Socket } from 'node:net'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { freePort } from '../../../test/support/ports.ts'
import { startAgent, testCluster } from '../../../test/support/test-cluster.ts'

const engines = ['native', 'portable'] as const
const cluster = await testCluster(t)
// Each thread of the native engine takes turns separately.
for (const engine of engines)
  await startAgent(t, cluster, engine, { env: { SVC_ENGINE: engine, SVC_THREADS: '1' } })

interface Target {
  readonly port: number
  stop(): Promise<void>
  start(): Promise<void>
}

/** Opens a target that sends callers its port and keeps their connections open. */
async function openTarget(t: Test): Promise<Target> {
  const port = await freePort()
  const open = new Set<Socket>()
  let server: Server
  const start = async () => {
    server = createServer(socket => {
      open.add(socket.on('error', () => {}))
      socket.on('end', () => socket.end()).write(String(port))
    })
    await once(server.listen(port, '127.0.0.1'), 'listening')
  }
  const stop = async () => {
    for (const socket of open) socket.destroy()
    const closed = once(server, 'close')
    server.close()
    await closed
  }
  await start()
  t.teardown(stop)
  return { port, start, stop }
}

/** Connects and returns the connection and the port that the target sent; 'none' if the caller was refused. */
async function call(t: Test, port: number, localAddress = '127.0.0.1'): Promise<readonly [string, Socket]> {
  const socket = connect({ port, host: '127.0.0.1', localAddress })
  t.teardown(() => void socket.destroy())
  const answer = await Promise.race([
    once(socket, 'data').then(([bytes]) => String(bytes)),
    new Promise<string>(resolve => socket.once('close', () => resolve('none')))
  ]).catch(() => 'none')
  return [answer, socket]
}

async function answers(t: Test, port: number, count: number): Promise<Record<string, number>> {
  const counts: Record<string, number> = {}
  for (let at = 0; at < count; at++) {
    const [answer, socket] = await call(t, port)
    counts[answer] = (counts[answer] ?? 0) + 1
    socket.end()
  }
  return counts
}

async function push(client: string, body: object): Promise<{ id: string; port: number }> {
  const listen_port = await freePort()
  const { rule_id: id } = await cluster.call<{ rule_id: string }>('POST', '/v1/rules', {
    client,
    listen_port,
    ...body
  })
  return { id, port: listen_port }
}

const local = ({ port }: Target, more: object = {}) => ({ host: '127.0.0.1', port, ...more })

for (const engine of engines) {
  t.test(`weights spread callers and change at run time (${engine})`, async t => {
    const [a, b, c] = [await openTarget(t), await openTarget(t), await openTarget(t)]
    const targets = [local(a, { weight: 3 }), local(b), local(c, { weight: 0 })]
    const { id, port } = await push(engine, { targets, balance: 'weighted' })

    t.same(await answers(t, port, 40), { [a.port]: 30, [b.port]: 10 })

    const [, kept] = await call(t, port)
    await cluster.call('PATCH', `/v1/rules/${id}`, { targets: [local(a, { weight: 0 }), local(b), local(c)] })
    t.same(await answers(t, port, 20), { [b.port]: 10, [c.port]: 10 })
    t.notOk(kept.destroyed, 'the connection continues')

    await cluster.call('PATCH', `/v1/rules/${id}`, { balance: 'round_robin' })
    t.same(await answers(t, port, 10), { [b.port]: 5, [c.port]: 5 })
  })

  t.test(`callers go to the target with the fewest connections (${engine})`, async t => {
    const a = await openTarget(t)
    const b = await openTarget(t)
    const { port } = await push(engine, { targets: [local(a), local(b)], balance: 'least_connections' })
    const held = [...(await Promise.all([call(t, port), call(t, port), call(t, port), call(t, port)]))]

    const heldByA = held.filter(([answer]) => answer === String(a.port))
    t.equal(heldByA.length, 2)
    for (const [, socket] of heldByA) {
      socket.end()
      await once(socket, 'close')
    }
    const after = [await call(t, port), await call(t, port)]
    t.same(
      after.map(([answer]) => answer),
      [String(a.port), String(a.port)]
    )
  })

  t.test(
    `source_hash keeps a caller's target, and a lost target moves only its own callers (${engine})`,
    async t => {
      const all = [await openTarget(t), await openTarget(t), await openTarget(t)]
      const { port } = await push(engine, {
        targets: all.map(target => local(target)),
        balance: 'source_hash'
      })
      const sources = Array.from({ length: 60 }, (_, at) => `127.0.1.${at + 1}`)
      const homes = async () => {
        const found: string[] = []
        for (const source of sources) {
          const [answer, socket] = await call(t, port, source)
          found.push(answer)
          socket.end()
        }
        return found
      }
      const before = await homes()
      t.same(await homes(), before)

      await all[0]?.stop()
      const after = await homes()

      const lost = String(all[0]?.port)
      t.ok(before.includes(lost))
      for (const [at, home] of before.entries())
        t.ok(
          home === lost ? after[at] !== lost && after[at] !== 'none' : after[at] === home,
          `of ${sources[at]}`
        )
      await all[0]?.start()
    }
  )

  t.test(`no caller is lost while one of three targets dies and returns (${engine})`, async t => {
    const all = [await openTarget(t), await openTarget(t), await openTarget(t)]
    const reserve = await openTarget(t)
    const targets = [...all.map(target => local(target, { priority: 0 })), local(reserve, { priority: 5 })]
    const { port } = await push(engine, { targets, balance: 'random_two' })

    t.notOk('none' in (await answers(t, port, 30)))
    await all[1]?.stop()
    t.notOk('none' in (await answers(t, port, 60)))
    await all[0]?.stop()
    await all[2]?.stop()
    t.same(await answers(t, port, 20), { [reserve.port]: 20 }, 'the reserve takes over')
    for (const target of all) await target.start()
    t.notOk('none' in (await answers(t, port, 20)))
  })
}

t.test('a rule is pushed, exported and applied with its weights', async t => {
  const listen = await freePort()
  const targets = ['10.0.0.1:80*3', '10.0.0.2:80', '10.0.0.9:80@7']
  const pushed = ['rule', 'push', 'native', String(listen), ...targets, '--balance', 'weighted']
  const { rule_id: id } = await cluster.json<{ rule_id: string }>(...pushed)
  const file = join(cluster.dir, 'rules.toml')
  const text = (await cluster.cli(['export'])).stdout
  writeFileSync(file, text)

  t.match(text, /balance = "weighted"/)
  t.match(await cluster.cli(['diff', file]), { code: 0 })

  writeFileSync(file, text.replaceAll('weight = 3', 'weight = 5'))
  t.match(await cluster.cli(['apply', file, '--yes']), { code: 0 })
  t.match(await cluster.call('GET', `/v1/rules/${id}`), {
    balance: 'weighted',
    targets: [
      { priority: 0, weight: 5 },
      { priority: 0, weight: 1 },
      { priority: 7, weight: 1 }
    ]
  })
})
