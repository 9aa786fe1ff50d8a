// node udp-addresses.ts: runs in a separate network namespace. Sends from one source port to all addresses of the host, to
// an address that the host gets later, and to a broadcast address. Sends the addresses that answer, and the flows.
import { execFileSync } from 'node:child_process'
import { createSocket } from 'node:dgram'
import { once } from 'node:events'
import t, { type Test } from 'tap'
import { openPortableEngine } from '../../agent/portable-engine/portable-engine.ts'
import { openUdpRule, openUdpTarget } from './cases/udp-fixture.ts'
import { engineFixture, until } from './engine-fixture.ts'
import { nativeUnderTest } from './native-under-test.ts'

const native = nativeUnderTest()
const openEngine = process.env['ENGINE'] === 'native' && native.ok ? native.openEngine : openPortableEngine
const ip = (...args: readonly string[]): void => void execFileSync('ip', args, { stdio: 'inherit' })

async function openSender(t: Test, type: 'udp4' | 'udp6', port: number) {
  const socket = createSocket(type).bind(0)
  await once(socket, 'listening')
  t.teardown(() => socket.close())
  if (type === 'udp4') socket.setBroadcast(true)
  const answers: string[] = []
  socket.on('message', (_, { address }) => answers.push(address))
  /** Returns the addresses that answered, in any order. */
  return async (...addresses: readonly string[]): Promise<string[]> => {
    const before = answers.length
    for (const address of addresses) socket.send('hello', port, address)
    await until(() => answers.length === before + addresses.length)
    return answers.slice(before).toSorted()
  }
}

t.test(`the addresses of a host: ${process.env['ENGINE']}`, async t => {
  ip('link', 'add', 'net0', 'type', 'veth', 'peer', 'name', 'peer0')
  ip('link', 'set', 'peer0', 'up')
  ip('link', 'set', 'net0', 'up')
  for (const address of ['10.79.0.1/24', '10.79.0.2/24'])
    ip('address', 'add', address, 'brd', '+', 'dev', 'net0')
  for (const address of ['fd79::1/64', 'fd79::2/64']) ip('address', 'add', address, 'dev', 'net0', 'nodad')
  const target = await openUdpTarget(t)
  const { engine, counters } = engineFixture(t, openEngine, { bind: ['0.0.0.0', '::'] })
  const { from } = await openUdpRule(engine, [target.port])
  const askIpv4 = await openSender(t, 'udp4', from)
  const askIpv6 = await openSender(t, 'udp6', from)

  const ipv4 = await askIpv4('127.0.0.1', '10.79.0.1', '10.79.0.2')
  const ipv6 = await askIpv6('::1', 'fd79::1', 'fd79::2')
  const flows = counters().connectionsTotal
  ip('address', 'add', '10.79.0.3/24', 'dev', 'net0')
  const late = await openSender(t, 'udp4', from)
  const begun = counters().connectionsTotal
  await late('10.79.0.3') // the portable engine does not know the address yet
  const second = await late('10.79.0.3')
  const lateFlows = counters().connectionsTotal - begun

  const before = target.received.length
  const broadcast = await askIpv4('10.79.0.255')
  await askIpv4('127.0.0.1') // a copy of the broadcast would have been answered by now
  const received = target.received.length - before
  process.send?.({ seen: { ipv4, ipv6, flows, broadcast, received, late: second, lateFlows } })
})
