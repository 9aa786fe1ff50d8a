// The plugin loaded by path: a real server, two agents in a row with either engine, and a target that reads the header.
import { createSocket } from 'node:dgram'
import { once } from 'node:events'
import { connect, createServer, type Socket } from 'node:net'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { conform } from '../../../../kit/conformance.ts'
import { clientHello } from '../../../engine/client-hellos.ts'
import { endOf } from '../../../engine/engine-fixture.ts'
import { freePort } from '../../../support/ports.ts'
import { startAgent, statsOf, testCluster } from '../../../support/test-cluster.ts'

const folder = join(import.meta.dirname, '..')
const signature = Buffer.from('\r\n\r\n\0\r\nQUIT\n', 'latin1')

t.test('the plugin passes sluice plugin check', async t => {
  t.same((await conform(folder)).problems, [])
})

/** What a header of version 2 for IPv4 says, and what follows it. */
function readHeader(bytes: Buffer) {
  const end = 16 + bytes.readUInt16BE(14)
  const isName = end > 28 && bytes.readUInt8(28) === 2
  return {
    kind: bytes.toString('hex', 0, 14),
    source: `${bytes.subarray(16, 20).join('.')} ${bytes.readUInt16BE(24)}`,
    destination: `${bytes.subarray(20, 24).join('.')} ${bytes.readUInt16BE(26)}`,
    name: isName ? bytes.toString('latin1', 31, end) : null,
    rest: bytes.subarray(end)
  }
}
const kindOf = (family: number) => `${signature.toString('hex')}21${family.toString(16)}`

/** A target whose connections are given to `next`. */
async function startTarget(t: Test) {
  const waiting: Socket[] = []
  const wake = new EventTarget()
  const server = createServer(socket => {
    waiting.push(socket.on('error', () => {}))
    wake.dispatchEvent(new Event('connection'))
  })
  await once(server.listen(0, '127.0.0.1'), 'listening')
  t.teardown(() => server.close())
  return {
    port: (server.address() as { readonly port: number }).port,
    /** Returns the first `least` bytes, or more, of the next connection. */
    async next(least: number): Promise<Buffer> {
      while (waiting.length === 0) await once(wake, 'connection')
      const socket = waiting.shift() as Socket
      let all = Buffer.alloc(0)
      while (all.length < least) all = Buffer.concat([all, (await once(socket, 'data'))[0]])
      socket.end()
      return all
    }
  }
}

/** A reset may come before 'connect': then `endOf` returns it. */
async function openCaller(t: Test, port: number, localAddress = '127.0.0.1'): Promise<Socket> {
  const socket = connect({ port, host: '127.0.0.1', localAddress })
  t.teardown(() => socket.destroy())
  socket.on('error', () => {})
  await once(socket, 'connect').catch(error => {
    if (error.code !== 'ECONNRESET') throw error
  })
  return socket
}

for (const engine of ['native', 'portable'])
  t.test(`the caller's address passes two agents, and everybody else is refused (${engine})`, async t => {
    const cluster = await testCluster(t, {}, `[plugins."${folder}"]\n`)
    const agent = { args: ['--config', cluster.configFile], env: { SVC_ENGINE: engine } }
    for (const name of ['front', 'back']) await startAgent(t, cluster, name, agent)
    const target = await startTarget(t)
    const push = async (client: string, port: number, more: object) => {
      const body = {
        ...{ client, listen_port: await freePort(), proxy_protocol_out: 2 },
        ...{ targets: [{ host: '127.0.0.1', port }], ...more }
      }
      const { rule_id: id } = await cluster.call<{ rule_id: string }>('POST', '/v1/rules', body)
      return { id, port: body.listen_port }
    }
    const proxy_protocol_in = ['127.0.0.1', '10.0.0.0/8']
    const back = await push('back', target.port, { proxy_protocol_in })
    const front = await push('front', back.port, {})

    const caller = await openCaller(t, front.port)
    caller.write('hello')
    const { rest, ...header } = readHeader(await target.next(28 + 5))
    t.equal(String(rest), 'hello')
    t.same(header, {
      kind: kindOf(0x11),
      source: `127.0.0.1 ${caller.localPort}`,
      destination: `127.0.0.1 ${front.port}`,
      name: null
    })

    const other = await openCaller(t, back.port)
    other.write('PROXY TCP4 192.0.2.1 198.51.100.7 12345 443\r\nhello')
    t.match(readHeader(await target.next(28 + 5)), {
      source: '192.0.2.1 12345',
      destination: '198.51.100.7 443'
    })

    const hello = await clientHello({ servername: 'a.example' })
    const named = await push('back', target.port, { proxy_protocol_in, sni_pattern: 'a.example' })
    const tls = await openCaller(t, (await push('front', named.port, {})).port)
    tls.write(hello)
    const read = readHeader(await target.next(28 + 3 + 9 + hello.length))
    t.match(read, { source: `127.0.0.1 ${tls.localPort}`, name: 'a.example' })
    t.ok(read.rest.equals(hello))

    const untrusted = await openCaller(t, back.port, '127.0.0.2')
    const headless = await openCaller(t, back.port)
    headless.write('GET / HTTP/1.1\r\n\r\n')
    t.same(await Promise.all([endOf(untrusted), endOf(headless)]), ['reset', 'reset'])

    const socket = createSocket('udp4', bytes => socket.emit('echo', bytes)).bind(0, '127.0.0.1')
    await once(socket, 'listening')
    t.teardown(() => void socket.close())
    const flows = { protocol: 'udp' }
    const inner = await push('back', socket.address().port, { ...flows, proxy_protocol_in })
    const outer = await push('front', inner.port, flows)
    const sender = createSocket('udp4').bind(0, '127.0.0.1')
    await once(sender, 'listening')
    t.teardown(() => void sender.close())
    sender.send('hello', outer.port, '127.0.0.1')
    const [datagram] = await once(socket, 'echo')
    t.match(readHeader(datagram), { kind: kindOf(0x12), source: `127.0.0.1 ${sender.address().port}` })
    t.equal(String(readHeader(datagram).rest), 'hello')
  })

t.test(
  'an entry that is no prefix is refused, with its place; the lists of a shared port must be equal',
  async t => {
    const cluster = await testCluster(t, {}, `[plugins."${folder}"]\n`)
    await startAgent(t, cluster, 'edge', { args: ['--config', cluster.configFile] })
    const from = await freePort()
    const push = (body: object) =>
      cluster.call<Record<string, unknown>>('POST', '/v1/rules', {
        ...{ client: 'edge', listen_port: from, targets: [{ host: '127.0.0.1', port: 9 }] },
        ...body
      })
    for (const wrong of ['10.0.0.0/33', 'proxy.example', 'fe80::1%eth0', '1.1.1.1/8/8'])
      await t.rejects(push({ proxy_protocol_in: ['10.0.0.1', wrong] }), {
        message: /400.*validation\.proxy_protocol_in.*\/proxy_protocol_in\/1/
      })
    await t.rejects(push({ proxy_protocol_out: 1 }), { message: /400/ })

    const list = ['10.0.0.2', '10.0.0.1']
    const first = await push({ sni_pattern: 'a.example', proxy_protocol_in: list })
    t.match(first, { state: 'active', proxy_protocol_in: [...list].sort(), proxy_protocol_out: null })
    t.match(await push({ sni_pattern: 'b.example', proxy_protocol_in: [...list].reverse() }), {
      state: 'active'
    })
    const failed = await push({ sni_pattern: 'c.example' }).catch(String)
    t.match(failed, /activation_failed.*equal firstRead/)
  }
)

t.test('the statistics of a rule count who is refused, and why', async t => {
  const cluster = await testCluster(t, {}, `[plugins."${folder}"]\n`)
  await startAgent(t, cluster, 'edge', { args: ['--config', cluster.configFile] })
  const port = await freePort()
  const { rule_id: id } = await cluster.call<{ rule_id: string }>('POST', '/v1/rules', {
    ...{ client: 'edge', listen_port: port, targets: [{ host: '127.0.0.1', port: 9 }] },
    proxy_protocol_in: ['127.0.0.1']
  })
  const untrusted = await openCaller(t, port, '127.0.0.2')
  const headless = await openCaller(t, port)
  headless.write('GET / HTTP/1.1\r\n\r\n')
  t.same(await Promise.all([endOf(untrusted), endOf(headless)]), ['reset', 'reset'])

  const { rejected } = await statsOf(cluster, id, ({ rejected }) => 'proxy_header' in rejected)

  t.same(rejected, { proxy_header: 1, proxy_untrusted: 1 })
})
