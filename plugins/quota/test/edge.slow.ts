// With real processes: an exhausted quota pauses open connections and refuses new ones, also without the server.
import { connect, type Socket } from 'node:net'
import t, { type Test } from 'tap'
import { freePort } from '../../../test/support/ports.ts'
import { startAgent, testCluster } from '../../../test/support/test-cluster.ts'
import { startZeroServer } from '../../../test/support/web.ts'
import type { QuotaRow } from '../schema.ts'

interface Reader {
  readonly socket: Socket
  readonly isClosed: () => boolean
  bytes(): number
  /** Resolves when at least this many bytes have been received. */
  until(bytes: number): Promise<void>
  /** Resolves with the received bytes when no more have arrived for `quietMs`. */
  quiet(): Promise<number>
}

const quietMs = 1200 // longer than the interval of one second between writes of the journal

function read(t: Test, port: number): Reader {
  const socket = connect(port, '127.0.0.1')
  t.teardown(() => socket.destroy())
  let bytes = 0
  let isClosed = false
  let onProgress = (): void => {}
  socket
    .on('error', () => {})
    .on('close', () => {
      isClosed = true
    })
  socket.on('data', chunk => {
    bytes += chunk.length
    onProgress()
  })
  return {
    socket,
    isClosed: () => isClosed,
    bytes: () => bytes,
    until: wanted =>
      new Promise(resolve => {
        onProgress = () => {
          if (bytes >= wanted) resolve()
        }
        onProgress()
      }),
    quiet: () =>
      new Promise(resolve => {
        let timer = setTimeout(() => resolve(bytes), quietMs)
        onProgress = () => {
          clearTimeout(timer)
          timer = setTimeout(() => resolve(bytes), quietMs)
        }
      })
  }
}

/** Returns true if the connection is closed before its first byte. */
async function isRefused(t: Test, port: number): Promise<boolean> {
  const { socket, bytes } = read(t, port)
  await new Promise(resolve => socket.once('data', resolve).once('close', resolve))
  return bytes() === 0
}

const MiB = 1024 * 1024
const slack = 64 * 1024 // bytes per open connection

async function startSystem(t: Test, { readers = 1 } = {}) {
  const on = await testCluster(t, { SVC_QUOTA_HOLD_SECS: '60' })
  const agent = await startAgent(t, on, 'paris')
  const [target, port, second] = [await startZeroServer(t, readers), await freePort(), await freePort()]
  await on.call('POST', '/v1/users', { user_id: 'root', display_name: 'Root', role: 'superadmin' })
  await on.call('POST', '/v1/users', { user_id: 'ann', display_name: 'Ann' })
  for (const listen_port of [port, second])
    await on.call('POST', '/v1/rules', {
      client: 'paris',
      listen_port,
      owner: 'ann',
      targets: [{ host: '127.0.0.1', port: target }]
    })
  const path = `/v1/users/ann/quotas/${agent.clientId}`
  return {
    on,
    agent,
    port,
    second,
    put: (monthly_bytes: number) => on.call<QuotaRow>('PUT', path, { monthly_bytes }),
    clear: () => on.call<QuotaRow>('PATCH', path, { clear_period_usage: true }),
    async untilExhausted(): Promise<QuotaRow> {
      for (;;) {
        const row = await on.call<QuotaRow>('GET', `${path}/status`)
        if (row.exhausted) return row
        await new Promise(resolve => setTimeout(resolve, 200))
      }
    }
  }
}

t.test(
  'a quota stops open connections of all rules at its last byte, and they continue after a refill',
  async t => {
    // All connect at the same time: a later one might find the quota exhausted.
    const { port, second, put, clear, untilExhausted } = await startSystem(t, { readers: 3 })
    await put(4 * MiB)
    const readers = [read(t, port), read(t, port), read(t, second)]
    const delivered = async () =>
      (await Promise.all(readers.map(reader => reader.quiet()))).reduce((a, b) => a + b)

    const first = await delivered()
    t.ok(first >= 4 * MiB && first <= 4 * MiB + slack * readers.length, `${first - 4 * MiB} bytes over`)
    t.ok(await isRefused(t, port))
    t.ok(await isRefused(t, second))
    const row = await untilExhausted()
    t.equal(row.bytes_used, first)
    t.type(row.exhausted_at, 'number')
    t.notOk(
      readers.some(({ isClosed }) => isClosed()),
      'paused, not closed'
    )

    t.match(await put(8 * MiB), { exhausted: false, period_end: row.period_end })
    const refilled = await delivered()
    t.ok(
      refilled >= 8 * MiB && refilled <= 8 * MiB + slack * readers.length,
      `${refilled - 8 * MiB} bytes over`
    )

    await untilExhausted()
    t.match(await clear(), { exhausted: false, bytes_used: 0, period_end: row.period_end })
    const cleared = await delivered()
    const over = cleared - refilled - 8 * MiB
    t.ok(over >= 0 && over <= slack * readers.length, `${over} bytes over`)
    t.notOk(readers.some(({ isClosed }) => isClosed()))
  }
)

t.test('a quota is enforced without the server and across kill -9 of the agent', async t => {
  const { on, agent, port, put, untilExhausted } = await startSystem(t)
  const running = read(t, port)
  await running.until(MiB)
  running.socket.pause() // back pressure stops the traffic; what passes later is limited by the quota
  await running.quiet()
  await put(6 * MiB)
  on.server.signal('SIGKILL')
  await on.server.exit

  running.socket.resume()
  await running.quiet()
  t.ok(await isRefused(t, port))

  agent.agent.signal('SIGKILL')
  await agent.agent.exit
  agent.restart()
  await agent.agent.until('rule.opened')
  t.ok(await isRefused(t, port), 'used bytes stay used after a restart')

  await on.restart()
  const row = await untilExhausted()
  t.ok(
    row.bytes_used >= 6 * MiB && row.bytes_used <= 6 * MiB + slack,
    `${row.bytes_used - 6 * MiB} bytes over`
  )
})
