// The dials that an agent makes for other agents: names, guardrails, loops, descriptors.
import { once } from 'node:events'
import { type AddressInfo, createServer } from 'node:net'
import t, { type Test } from 'tap'
import type { Resolved } from '../../agent/engine/engine.ts'
import type { AgentDialOptions } from '../../agent/plugin.ts'
import { openAgentDial } from '../../agent/rules/agent-dial.ts'
import { type GuardrailKeys, openGuardrails } from '../../agent/rules/guardrails.ts'
import { fakeClock } from '../../kit/fake-clock.ts'
import { freePort } from '../support/ports.ts'

interface Given {
  readonly guardrails?: Partial<GuardrailKeys>
  readonly listens?: (port: number) => boolean
  readonly resolve?: (host: string) => Promise<Resolved>
}

const none = { allow_ports: [], allow_targets: [], deny_targets: [], deny_local_ports: [] }

function open({ guardrails: keys = {}, listens = () => false, resolve }: Given = {}) {
  const clock = fakeClock()
  const held = { count: 0, limit: 10 }
  let guardrails = openGuardrails({ ...none, ...keys }, [])
  const dial = openAgentDial({
    engine: {
      reserveDescriptor() {
        if (held.count === held.limit) return null
        held.count++
        return () => void held.count--
      }
    },
    resolver: { resolve: resolve ?? (async host => ({ ok: true, addresses: [host] })) },
    rules: { listens: (_, port) => listens(port) },
    bind: ['127.0.0.1'],
    guardrails: () => guardrails,
    clock
  })
  const to = (host: string, port: number, changes: Partial<AgentDialOptions> = {}) =>
    dial(
      { host, port },
      { owner: 'ann', preferIpv6: false, signal: new AbortController().signal, ...changes }
    )
  const reload = (next: Partial<GuardrailKeys>) => {
    guardrails = openGuardrails({ ...none, ...next }, [])
  }
  return { to, held, reload, clock }
}

async function openTarget(t: Test): Promise<number> {
  const server = createServer({ allowHalfOpen: true }, socket => socket.pipe(socket))
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.teardown(() => server.close())
  return (server.address() as AddressInfo).port // a TCP address
}

const unanswered = () => new Promise<Resolved>(() => {})

t.test('a dial returns the socket, and holds a descriptor of the owner until it closes', async t => {
  const port = await openTarget(t)
  const { to, held } = open({ resolve: async () => ({ ok: true, addresses: ['127.0.0.1'] }) })
  const dialed = await to('db.internal', port)
  if (!('socket' in dialed)) throw new Error(dialed.failure)
  const { socket } = dialed
  t.match(dialed, { address: '127.0.0.1' })
  t.ok(dialed.dnsMs >= 0 && dialed.connectMs >= 0)
  t.equal(held.count, 1)
  const closed = once(socket, 'close')
  socket.end('hello')
  t.equal(Buffer.concat(await socket.toArray()).toString(), 'hello', 'a half-close passes')
  await closed
  t.equal(held.count, 0)
})

t.test('guardrails hold for targets of others, also those of a reload', async t => {
  const port = await openTarget(t)
  const { to, held, reload } = open({ guardrails: { deny_targets: ['127.0.0.0/8'] } })
  const denied = { failure: 'denied_by_exit', isRefusal: true }
  t.same(await to('127.0.0.1', port), denied)
  t.same(await to('::ffff:127.0.0.1', port), denied)
  t.same(await to('64:ff9b::7f00:1', port), denied)
  reload({ allow_targets: ['192.0.2.0/24'] })
  t.same(await to('127.0.0.1', port), denied)
  reload({})
  const dialed = await to('127.0.0.1', port)
  t.ok('socket' in dialed)
  if ('socket' in dialed) dialed.socket.destroy()
  t.equal(held.count, 1, 'a refused dial has none')
})

t.test(
  'a listener of this agent, and a port of the caller, is a loop at every address of this host',
  async t => {
    const { to } = open({ listens: port => port === 8080 })
    const loop = { failure: 'loop', isRefusal: true }
    t.same(await to('127.0.0.1', 8080), loop)
    t.same(await to('0.0.0.0', 8080), loop)
    t.same(await to('127.0.0.1', 7444, { loopPorts: [7444] }), loop)
    t.same(await to('127.0.0.1', await freePort()), { failure: 'refused', isRefusal: false })
  }
)

t.test('failed look-ups have the prefix dns_', async t => {
  const answers: Record<string, Resolved> = {
    'gone.test': { ok: false, reason: 'nxdomain' },
    'empty.test': { ok: true, addresses: [] },
    'many.test': { ok: false, reason: 'overloaded' }
  }
  const { to } = open({ resolve: async host => answers[host] ?? { ok: true, addresses: [] } })
  t.same(await to('gone.test', 80), { failure: 'dns_nxdomain', isRefusal: false })
  t.same(await to('empty.test', 80), { failure: 'dns_no_address', isRefusal: false })
  t.same(await to('many.test', 80), { failure: 'dns_overloaded', isRefusal: true })
})

t.test('the signal ends a dial at once, and a dial without a descriptor is refused', async t => {
  const { to, held } = open({ resolve: unanswered })
  const controller = new AbortController()
  const dialed = to('slow.test', 80, { signal: controller.signal })
  controller.abort()
  t.same(await dialed, { failure: 'canceled', isRefusal: true })
  t.equal(held.count, 0)
  const full = open()
  full.held.limit = 0
  t.same(await full.to('127.0.0.1', 9), { failure: 'descriptors', isRefusal: true })
})

t.test('a look-up that takes four seconds has failed', async t => {
  const { to, clock } = open({ resolve: unanswered })
  const dialed = to('slow.test', 80)
  await clock.advance(4_000)
  t.same(await dialed, { failure: 'dns_timeout', isRefusal: false })
})
