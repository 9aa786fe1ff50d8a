// Headers in and out over UDP, in the first or each datagram, for each kind of rule, IPv4 and IPv6, and both engines. Uses
// a real server and agents, and dnsdist as receiver and sender. nginx cannot read headers over UDP, and sends version 1,
// which does not support datagrams. HAProxy does not forward UDP. Rules with TLS names are TCP.
import { type ChildProcess, spawnSync } from 'node:child_process'
import { createSocket } from 'node:dgram'
import { once } from 'node:events'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import t from 'tap'
import { spawnChild } from '../../../test/support/child-process.ts'
import { freePort } from '../../../test/support/ports.ts'
import { startAgent, testCluster } from '../../../test/support/test-cluster.ts'

const engines = ['native', 'portable'] as const
const kinds = ['one target', 'range', 'several targets'] as const
const hosts = ['127.0.0.1', '::1'] as const
const missing = spawnSync('dnsdist', ['--version']).status === 0 ? false : 'dnsdist is not installed'

interface Cell {
  readonly engine: string
  readonly kind: (typeof kinds)[number]
  readonly datagrams: 'first' | 'each'
  readonly host: (typeof hosts)[number]
  readonly port: number // of the rule
  readonly sender: number // a port of dnsdist in front of it
}

/** Answers each query with the content of its header: source, destination, and the sizes of its values by type. */
const receiverConfig = (ports: readonly number[]): string => `
setSecurityPollSuffix("") setACL({"0.0.0.0/0", "::/0"}) setProxyProtocolACL({"127.0.0.1/32"})
${ports.map(port => `addLocal("127.0.0.1:${port}")`).join('\n')}
addAction(AllRule(), LuaAction(function(dq)
  local values = dq:getProxyProtocolValues()
  local text = dq.remoteaddr:toStringWithPort() .. " " .. dq.localaddr:toStringWithPort()
  for _, type in ipairs({3, 5}) do text = text .. " " .. (values[type] and #values[type] or "none") end
  return DNSAction.SpoofRaw, string.char(#text) .. text
end))
`

const sendersConfig = (cells: readonly Cell[]): string => `
setSecurityPollSuffix("") setACL({"0.0.0.0/0", "::/0"})
${cells
  .map(
    ({ sender, port }) => `addLocal("127.0.0.1:${sender}") addLocal("[::1]:${sender}")
addAction(DSTPortRule(${sender}), PoolAction("${sender}"))
newServer({address = "127.0.0.1:${port}", pool = "${sender}", useProxyProtocol = true}):setUp()`
  )
  .join('\n')}
`

/** Starts dnsdist with this configuration, and waits until it listens. */
async function startDnsdist(file: string, config: string): Promise<ChildProcess> {
  writeFileSync(file, config)
  const args = ['--supervised', '--disable-syslog', '-C', file]
  const program = spawnChild('dnsdist', args, { stdio: ['ignore', 'pipe', 'inherit'] })
  t.teardown(async () => {
    const ended = once(program, 'exit')
    if (program.kill('SIGKILL')) await ended
  })
  for await (const line of createInterface(program.stdout)) if (/^Console ACL/.test(line)) break
  program.stdout.resume()
  return program
}

/** A DNS query for the TXT record of the root. */
const query = Buffer.from('\x12\x34\x01\x00\0\x01\0\0\0\0\0\0\0\0\x10\0\x01', 'latin1')

/** Sends queries of one flow, one after another, and returns the text of each answer. */
async function ask(host: string, port: number, times: number): Promise<{ own: string; answers: string[] }> {
  const socket = createSocket(host === '::1' ? 'udp6' : 'udp4').bind(0, host)
  await once(socket, 'listening')
  const answers: string[] = []
  for (let at = 0; at < times; at++) {
    socket.send(query, port, host)
    const [answer]: [Buffer] = (await once(socket, 'message')) as never
    answers.push(answer.toString('latin1', query.length + 13)) // the record: name, type, class, time, two lengths
  }
  const own = shown(host, socket.address().port)
  socket.close()
  return { own, answers }
}

const shown = (host: string, port: number): string => (host === '::1' ? `[::1]:${port}` : `${host}:${port}`)

t.test(
  'over UDP, dnsdist reads the headers that targets get, and names callers to rules',
  { skip: missing },
  async t => {
    const cluster = await testCluster(t)
    for (const engine of engines) await startAgent(t, cluster, engine, { env: { SVC_ENGINE: engine } })
    const receiver = await freePort(2)
    const cells: Cell[] = []
    for (const engine of engines)
      for (const kind of kinds)
        for (const datagrams of ['first', 'each'] as const)
          for (const host of hosts)
            cells.push({ engine, kind, datagrams, host, port: await freePort(2), sender: await freePort() })
    await startDnsdist(join(cluster.dir, 'receiver.conf'), receiverConfig([receiver, receiver + 1]))

    const push = ({ engine, kind, datagrams, port }: Cell, proxy_in: readonly string[] | null) =>
      cluster.call<{ rule_id: string }>('POST', '/v1/rules', {
        client: engine,
        protocol: 'udp',
        listen_port: port,
        proxy_in,
        proxy_out: 2,
        proxy_out_udp: datagrams,
        ...(kind === 'range' && { listen_port_end: port + 1 }),
        targets: (kind === 'several targets' ? [0, 1] : [0]).map(at => ({
          host: '127.0.0.1',
          port: receiver + at
        }))
      })
    const readOne = async (cell: Cell) => {
      const { kind, datagrams, host } = cell
      const { rule_id: id } = await push(cell, null)
      const port = kind === 'range' ? cell.port + 1 : cell.port
      const { own, answers } = await ask(host, port, datagrams === 'each' ? 2 : 1)
      for (const answer of answers) t.equal(answer, `${own} ${shown(host, port)} 4 16`, JSON.stringify(cell))
      t.match(await cluster.call('GET', `/v1/rules/${id}/stats`), { rejected: {} })
      await cluster.call('DELETE', `/v1/rules/${id}`)
    }
    await Promise.all(cells.map(readOne))

    // dnsdist sends all callers of a rule from one port, which is one flow: each rule has one caller here.
    await startDnsdist(join(cluster.dir, 'senders.conf'), sendersConfig(cells))
    const nameOne = async (cell: Cell) => {
      const { rule_id: id } = await push(cell, ['127.0.0.1'])
      const { own, answers } = await ask(cell.host, cell.sender, 1)
      t.equal(answers[0], `${own} ${shown(cell.host, cell.sender)} 4 16`, `behind, ${JSON.stringify(cell)}`)
      t.match(await cluster.call('GET', `/v1/rules/${id}/stats`), { rejected: {} })
    }
    await Promise.all(cells.map(nameOne))
  }
)
