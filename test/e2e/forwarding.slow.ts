// In real processes a rule forwards traffic, and its counters are exact.
import t from 'tap'
import { freePort } from '../support/ports.ts'
import { startAgent, statsOf, type TestCluster, testCluster } from '../support/test-cluster.ts'
import { download, get, hashOfMib, startWebServer } from '../support/web.ts'

interface Rule {
  readonly rule_id: string
  readonly state: string
}

const push = (cluster: TestCluster, client: string, listen: number, target: string): Promise<Rule> =>
  cluster.json<Rule>('rule', 'push', client, String(listen), target)

t.test('a page is fetched through a pushed rule, over IPv4 and IPv6', async t => {
  const cluster = await testCluster(t)
  await startAgent(t, cluster, 'paris')
  const page = await startWebServer(t)
  const port = await freePort()

  const rule = await push(cluster, 'paris', port, `127.0.0.1:${page}`)

  t.equal(rule.state, 'active')
  t.equal(await get(`http://127.0.0.1:${port}/`), 'hello from 127.0.0.1')
  t.equal(await get(`http://[::1]:${port}/`), 'hello from 127.0.0.1')
})

t.test(
  'a 1 GiB download arrives unchanged, and the counters show exactly its bytes',
  { timeout: 240_000 },
  async t => {
    const cluster = await testCluster(t)
    await startAgent(t, cluster, 'paris')
    const page = await startWebServer(t)
    const port = await freePort()
    const rule = await push(cluster, 'paris', port, `127.0.0.1:${page}`)

    t.equal(await download(`http://127.0.0.1:${port}/mib/1024`).hash, hashOfMib(1024))

    const direct = await headBytes(page)
    const stats = await statsOf(cluster, rule.rule_id, ({ bytes_out }) => bytes_out >= direct + 2 ** 30)
    t.equal(stats.bytes_out, direct + 2 ** 30)
    t.equal(stats.connections_total, 1)
  }
)

/** Returns the number of header bytes of the web server, measured without a rule. */
async function headBytes(port: number): Promise<number> {
  const { connect } = await import('node:net')
  const socket = connect(port, '127.0.0.1')
  socket.write(`GET /mib/1024 HTTP/1.1\r\nhost: 127.0.0.1:${port}\r\nconnection: keep-alive\r\n\r\n`)
  let head = ''
  for await (const chunk of socket) {
    head += chunk.toString('latin1')
    if (head.includes('\r\n\r\n')) break
  }
  socket.destroy()
  return head.indexOf('\r\n\r\n') + 4
}

t.test(
  'renaming a client during a download breaks no connection; two clients may have the same name',
  async t => {
    const cluster = await testCluster(t)
    const { clientId, agent } = await startAgent(t, cluster, 'paris')
    const page = await startWebServer(t)
    const port = await freePort()
    await push(cluster, 'paris', port, `127.0.0.1:${page}`)
    const body = download(`http://127.0.0.1:${port}/mib/64`, 8 << 20)
    await body.reached(8 << 20)

    await cluster.json('client', 'rename', clientId, 'lyon')
    body.resume()

    t.equal(await body.hash, hashOfMib(64))
    t.equal(agent.count('rule.opened'), 1)
    t.equal(cluster.server.count('client.disconnected'), 0)
    await startAgent(t, cluster, 'twin')
    const twin = (await cluster.json<{ client_id: string; client_name: string }[]>('client', 'list')).find(
      ({ client_name }) => client_name === 'twin'
    )
    await cluster.json('client', 'rename', String(twin?.client_id), 'lyon')
    const names = (await cluster.json<{ client_name: string; connected: boolean }[]>('client', 'list')).map(
      ({ client_name, connected }) => ({ client_name, connected })
    )
    t.same(names, [
      { client_name: 'lyon', connected: true },
      { client_name: 'lyon', connected: true }
    ])
    const ambiguous = await cluster.cli(['rule', 'push', 'lyon', String(await freePort()), '127.0.0.1:1'])
    t.equal(ambiguous.code, 5)
    t.match(ambiguous.stderr, /client_name_ambiguous/)
  }
)
