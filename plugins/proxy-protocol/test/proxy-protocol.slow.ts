// A real server and two agents in a row, with each engine: the first agent sends the header that the second reads.
import { createSocket, type Socket as UdpSocket } from 'node:dgram'
import { once } from 'node:events'
import { connect, createServer, type Socket } from 'node:net'
import t, { type Test } from 'tap'
import { endOf } from '../../../test/engine/engine-fixture.ts'
import { readProxyV2 } from '../../../test/engine/preambles.ts'
import { binaryHeader } from '../../../test/engine/proxy-headers.ts'
import { freePort } from '../../../test/support/ports.ts'
import { startAgent, statsOf, testCluster } from '../../../test/support/test-cluster.ts'

const engines = ['native', 'portable'] as const
const hosts = ['127.0.0.1', '::1'] as const
const proxy_in = ['127.0.0.1', '::1/128']

/** Creates a rule to a port of this host. */
async function push(client: string, port: number, more: object) {
  const body = { client, listen_port: await freePort(), targets: [{ host: '127.0.0.1', port }], ...more }
  const { rule_id: id } = await cluster.call<{ rule_id: string }>('POST', '/v1/rules', body)
  return { id, port: body.listen_port }
}

const cluster = await testCluster(t)
for (const engine of engines)
  for (const place of ['front', 'back'])
    await startAgent(t, cluster, `${place}-${engine}`, { env: { SVC_ENGINE: engine } })

/** A reset can come before 'connect'; `endOf` then returns it. */
async function openCaller(t: Test, port: number, host: string, localAddress = host): Promise<Socket> {
  const socket = connect({ port, host, localAddress })
  t.teardown(() => socket.destroy())
  socket.on('error', () => {})
  await once(socket, 'connect').catch(error => {
    if (error.code !== 'ECONNRESET') throw error
  })
  return socket
}

async function openSocket(t: Test, host: string): Promise<UdpSocket> {
  const socket = createSocket(host === '::1' ? 'udp6' : 'udp4').bind(0, host)
  await once(socket, 'listening')
  t.teardown(() => void socket.close())
  return socket
}

const source = (header: ReturnType<typeof readProxyV2>) => [header.addresses, header.ports] as const
const addressBytes: Record<string, number[]> = {
  '127.0.0.1': [127, 0, 0, 1],
  '::1': [...Array(15).fill(0), 1]
}
const bothAddresses = (host: string) =>
  Buffer.from([...(addressBytes[host] ?? []), ...(addressBytes[host] ?? [])])

for (const engine of engines) {
  t.test(`callers that are not proxies or send no header are refused and counted (${engine})`, async t => {
    const server = createServer(socket => socket.on('error', () => {}).pipe(socket))
    await once(server.listen(0, '127.0.0.1'), 'listening')
    t.teardown(() => server.close())
    const { port: target } = server.address() as { readonly port: number }
    const { id, port } = await push(`back-${engine}`, target, { proxy_in })

    const untrusted = await openCaller(t, port, '127.0.0.1', '127.0.0.2')
    untrusted.write(binaryHeader())
    const headless = await openCaller(t, port, '127.0.0.1')
    headless.write('GET / HTTP/1.1\r\n\r\n')
    t.same(await Promise.all([endOf(untrusted), endOf(headless)]), ['reset', 'reset'])

    const { rejected } = await statsOf(
      cluster,
      id,
      ({ rejected }) => 'proxy_header' in rejected && 'proxy_untrusted' in rejected
    )
    t.same(rejected, { proxy_header: 1, proxy_untrusted: 1 })
  })

  t.test(`the first or each datagram names its caller, over two agents (${engine})`, async t => {
    const target = await openSocket(t, '127.0.0.1')
    for (const datagrams of ['first', 'each'])
      for (const host of hosts) {
        const rule = { protocol: 'udp', proxy_out: 2, proxy_out_udp: datagrams }
        const inner = await push(`back-${engine}`, target.address().port, { ...rule, proxy_in })
        const outer = await push(`front-${engine}`, inner.port, rule)
        const caller = await openSocket(t, host)

        caller.send('hello', outer.port, host)
        const [first] = await once(target, 'message')
        caller.send('again', outer.port, host)
        const [second] = await once(target, 'message')

        const cell = `${datagrams}, ${host}`
        const header = readProxyV2(first)
        t.equal(header.kind, host === '::1' ? 0x22 : 0x12, cell)
        t.same(source(header), [bothAddresses(host), [caller.address().port, outer.port]], cell)
        t.ok(header.isIntact, cell)
        t.equal(String(header.rest), 'hello', cell)
        t.equal(String(datagrams === 'each' ? readProxyV2(second).rest : second), 'again', cell)
      }
  })
}

t.test(
  'rules that share a port need the same proxies, because the header comes before the TLS name',
  async t => {
    const listen_port = await freePort()
    await push('front-native', 9, {
      listen_port,
      sni_pattern: 'a.example',
      proxy_in: ['10.0.0.2', '10.0.0.1']
    })
    await push('front-native', 9, {
      listen_port,
      sni_pattern: 'b.example',
      proxy_in: ['10.0.0.1', '10.0.0.2/32']
    })

    await t.rejects(push('front-native', 9, { listen_port, sni_pattern: 'c.example' }), {
      message: /activation_failed.*the same proxies in front \(proxy_in/
    })
  }
)
