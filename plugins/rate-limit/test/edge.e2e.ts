// Limits of a rule and of an owner, with real processes: they apply to open connections, also after a change.
import { connect } from 'node:net'
import t, { type Test } from 'tap'
import { freePort } from '../../../test/support/ports.ts'
import { startAgent, testCluster } from '../../../test/support/test-cluster.ts'
import { startZeroServer } from '../../../test/support/web.ts'

function reader(t: Test, port: number) {
  const socket = connect(port, '127.0.0.1').on('error', () => {})
  t.teardown(() => socket.destroy())
  let bytes = 0
  let onProgress = (): void => {}
  socket.on('data', chunk => {
    bytes += chunk.length
    onProgress()
  })
  const isOpen = (): Promise<boolean> =>
    new Promise(resolve => socket.once('data', () => resolve(true)).once('close', () => resolve(false)))
  /** Returns the milliseconds until `more` further bytes have arrived. */
  async function msFor(more: number): Promise<number> {
    const begin = performance.now()
    const until = bytes + more
    await new Promise<void>(resolve => {
      onProgress = () => {
        if (bytes >= until) resolve()
      }
      onProgress()
    })
    return performance.now() - begin
  }
  return { socket, isOpen, msFor }
}

const MiB = 1024 * 1024
const perSec = 4 * MiB

t.test(
  'a bandwidth limit slows open connections until it is removed; surplus connections are refused',
  async t => {
    const on = await testCluster(t)
    await startAgent(t, on, 'paris')
    const target = await startZeroServer(t)
    const port = await freePort()
    const { rule_id } = await on.json<{ rule_id: string }>(
      ...['rule', 'push', 'paris', String(port), `127.0.0.1:${target}`],
      ...['--concurrent-connections', '1']
    )
    const live = reader(t, port)
    t.ok(await live.isOpen())
    t.notOk(await reader(t, port).isOpen())

    const limits = ['--bandwidth-out-bps', String(8 * perSec), '--bandwidth-out-burst-bytes', '16384']
    t.match(await on.json('rule', 'set-limit', rule_id, ...limits), {
      rule_id,
      bandwidth_out_bps: 8 * perSec
    })
    await live.msFor(12 * MiB) // bytes that were already in socket buffers
    const slow = await live.msFor(8 * MiB)
    t.ok(slow > 1500, `8 MiB at 4 MiB/s took ${Math.round(slow)} ms`)
    t.ok(await reader(t, port).isOpen(), 'the limit of connections is gone')

    await on.json('rule', 'set-limit', rule_id)
    const fast = await live.msFor(40 * MiB)
    t.ok(fast < 5000, `40 MiB without a limit took ${Math.round(fast)} ms`)
  }
)

t.test('an envelope limits all rules of an owner together, including later ones', async t => {
  const on = await testCluster(t)
  const { clientId } = await startAgent(t, on, 'paris')
  const target = await startZeroServer(t)
  const ports = [await freePort(), await freePort(), await freePort()]
  const path = `/v1/clients/${clientId}/owners/_operator/rate-limit`
  const push = (port: number) =>
    on.call<{ rule_id: string }>('POST', '/v1/rules', {
      client: 'paris',
      listen_port: port,
      targets: [{ host: '127.0.0.1', port: target }]
    })
  await on.json('owner-limit', 'set', clientId, '_operator', '--concurrent-connections', '2')
  const rules = [await push(ports[0] ?? 0), await push(ports[1] ?? 0), await push(ports[2] ?? 0)]

  t.ok(await reader(t, ports[0] ?? 0).isOpen())
  t.ok(await reader(t, ports[1] ?? 0).isOpen())
  t.notOk(await reader(t, ports[2] ?? 0).isOpen())
  t.match(await on.json('owner-limit', 'list', clientId), [{ owner_id: '_operator', rule_count: 3 }])

  const readRejected = async () => {
    const path = `/v1/rules/${rules[2]?.rule_id}/stats`
    return (await on.call<{ rejected: Record<string, number> }>('GET', path)).rejected
  }
  let rejected = await readRejected()
  while (Object.keys(rejected).length === 0) {
    await new Promise(resolve => setTimeout(resolve, 200))
    rejected = await readRejected()
  }
  t.strictSame(rejected, { owner_concurrent_connections: 1 })

  await on.call('DELETE', path)
  const free = reader(t, ports[2] ?? 0)
  t.ok(await free.isOpen())
})
