// Many open connections: the cost of watching them and of closing half of them. `CONNECTIONS=10000` with `ulimit -n 65536`
// is the gate, on an idle host: at most 5 % of a core for server and agent together, and a close within 1 s.
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { connect, type Socket } from 'node:net'
import t, { type Test } from 'tap'
import { startEchoServer } from '../../../test/support/live-stream.ts'
import { freePort } from '../../../test/support/ports.ts'
import { startAgent, type TestCluster, testCluster, token } from '../../../test/support/test-cluster.ts'
import { readEvents } from '../../cli/api/event-stream.ts'
import type { ConnectionsEvent } from '../schema.ts'

const given = process.env['CONNECTIONS']
const count = Number(given ?? 200)
const half = count / 2
const events = given === undefined ? 3 : 20

/** Opens half of the callers from 127.1.0.0/16, and half from 127.2.0.0/16. */
async function openCallers(t: Test, port: number): Promise<readonly Socket[]> {
  const callers: Socket[] = []
  t.teardown(() => callers.map(caller => caller.destroy()))
  for (let at = 0; at < count; at++) {
    const inHalf = at % half
    const localAddress = `127.${at < half ? 1 : 2}.${inHalf >> 8}.${inHalf & 255 || 1}`
    const caller = connect({ port, host: '127.0.0.1', localAddress }).on('error', () => {}) // reset
    callers.push(caller)
    if (at % 100 === 99) await answered(callers.slice(-100))
  }
  return callers
}

/** Resolves when each caller has received its byte back. */
const answered = (callers: readonly Socket[]) =>
  Promise.all(
    callers.map(async caller => {
      caller.write('x')
      await once(caller, 'data')
    })
  )

/** Seconds of processor time of a process so far (proc_pid_stat(5)), at 100 ticks a second. */
function cpuSecs(pid: number): number {
  const fields = readFileSync(`/proc/${pid}/stat`, 'utf8')
    .replace(/^.*\) /, '')
    .split(' ')
  return (Number(fields[11]) + Number(fields[12])) / 100
}

/** Resolves with the last of `count` events and the seconds they took. */
async function watch({ origin }: TestCluster, query: string, wanted: number) {
  const headers = { authorization: `Bearer ${token}` }
  const { body } = await fetch(`${origin}/v1/connections/stream?${query}`, { headers })
  const began = performance.now()
  let seen = 0
  for await (const { data } of readEvents(
    (body as ReadableStream<Uint8Array>).pipeThrough(new TextDecoderStream())
  )) {
    seen++
    if (seen < wanted) continue
    return { event: data as ConnectionsEvent, secs: (performance.now() - began) / 1000 }
  }
  throw new Error('the stream has ended')
}

for (const engine of ['native', 'portable'])
  t.test(`${count} connections are watched and closed by the ${engine} engine`, async t => {
    const cluster = await testCluster(t)
    const { agent } = await startAgent(t, cluster, 'paris', {
      env: { SVC_ENGINE: engine, SVC_LOG_LEVEL: 'info' }
    })
    const listen_port = await freePort()
    const targets = [{ host: '127.0.0.1', port: await startEchoServer(t) }]
    await cluster.call('POST', '/v1/rules', { client: 'paris', listen_port, targets })
    const callers = await openCallers(t, listen_port)
    const cpu = () => cpuSecs(cluster.server.pid) + cpuSecs(agent.pid)
    await watch(cluster, 'sort=rate&limit=200', 5) // warms up the compiled code

    const idleAt = cpu()
    await new Promise(resolve => setTimeout(resolve, given === undefined ? 0 : 10_000))
    const idle = given === undefined ? 0 : (cpu() - idleAt) / 10
    const before = cpu()
    const { event, secs } = await watch(cluster, 'sort=rate&limit=200', events)
    const share = (cpu() - before) / secs - idle
    t.equal(event.matched, count)
    t.equal(event.connections.length, Math.min(200, count))

    const others = callers.slice(half)
    const ended = Promise.all(
      callers.slice(0, half).map(caller => caller.closed || once(caller, 'close').catch(() => {}))
    )
    const closingAt = performance.now()
    const closed = await cluster.call('DELETE', '/v1/connections?source=127.1.0.0/16')
    const closeSecs = (performance.now() - closingAt) / 1000
    t.same(closed, { matched: half, closed: half })
    await ended
    await answered(others)
    t.comment(`${engine}: watching ${(share * 100).toFixed(1)} % of a core, close ${closeSecs.toFixed(2)} s`)
    if (given === undefined) return
    t.ok(share <= 0.05, 'watching costs at most 5 % of a core')
    t.ok(closeSecs <= 1, 'a close takes at most 1 s')
  })
