// The server is killed while it changes a rule of a real agent. After the restart both sides have either the old or the
// new rule, and the other port is free.
import { once } from 'node:events'
import { createServer } from 'node:net'
import t, { type Test } from 'tap'
import { freePort } from '../support/ports.ts'
import { startAgent, testCluster } from '../support/test-cluster.ts'
import { readAnswer } from './read-answer.ts'

const host = '127.0.0.1'
const rounds = 12

interface Rule {
  readonly rule_id: string
  readonly listen_port: number
  readonly targets: readonly { readonly port: number }[]
  readonly state: string
  readonly paused: boolean
}

/** Sends its name on each connection. */
async function openTarget(t: Test, name: string): Promise<number> {
  const server = createServer(socket => void socket.on('error', () => {}).end(name)).listen(0, host)
  await once(server, 'listening')
  t.teardown(() => void server.close())
  return (server.address() as { readonly port: number }).port // a TCP address
}

const turns = async (count: number): Promise<void> => {
  for (let turn = 0; turn < count; turn++) await new Promise(resolve => setImmediate(resolve))
}

t.test('a server that is killed during a change leaves the same rule on both sides', async t => {
  const names = new Map([
    [await openTarget(t, 'a'), 'a'],
    [await openTarget(t, 'b'), 'b']
  ])
  const targets = [...names.keys()]
  const ports = [await freePort(), await freePort()]
  const cluster = await testCluster(t)
  await startAgent(t, cluster, 'edge')
  const { rule_id: id } = await cluster.call<Rule>('POST', '/v1/rules', {
    client: 'edge',
    listen_port: ports[0],
    targets: [{ host, port: targets[0] }]
  })
  for (let round = 1; round <= rounds; round++) {
    const before = await cluster.call<Rule>('GET', `/v1/rules/${id}`)
    const other = before.listen_port === ports[0] ? 1 : 0
    const wanted = {
      listen_port: ports[other],
      targets: [{ host, port: targets[other] }],
      paused: round % 4 === 0
    }

    const answer = cluster.call<Rule>('PATCH', `/v1/rules/${id}`, wanted).then(
      () => 'answered',
      () => 'lost'
    )
    // Some kills hit before the change reaches the agent; others after the agent has applied it, perhaps before the
    // server knows.
    if (round % 2 === 0) await turns(round * 600)
    else while ((await readAnswer(ports[other] ?? 0)) === 'ECONNREFUSED') await turns(1)
    cluster.server.signal('SIGKILL')
    await cluster.server.exit
    const end = await answer
    await cluster.restart()
    await cluster.server.until('client.connected')

    // The agent handles rules in order, so its answer for another rule means that it has handled this one.
    const probe = await cluster.call<Rule>('POST', '/v1/rules', {
      client: 'edge',
      listen_port: await freePort(),
      targets: [{ host, port: 9 }]
    })
    await cluster.call('DELETE', `/v1/rules/${probe.rule_id}`)
    const after = await cluster.call<Rule>('GET', `/v1/rules/${id}`)
    const isChanged = after.listen_port === wanted.listen_port
    t.match(after, isChanged ? wanted : { listen_port: before.listen_port, paused: before.paused })
    if (end === 'answered') t.ok(isChanged, 'an acknowledged change is stored')
    t.comment(`${end}, ${isChanged ? 'changed' : 'unchanged'}`)
    t.equal(after.state, after.paused ? 'paused' : 'active')
    const name = names.get(after.targets[0]?.port ?? 0)
    t.equal(await readAnswer(after.listen_port), after.paused ? 'ECONNREFUSED' : name)
    for (const port of ports.filter(port => port !== after.listen_port)) {
      t.equal(await readAnswer(port), 'ECONNREFUSED', 'the other port is closed')
      const taken = await cluster.call<Rule>('POST', '/v1/rules', {
        client: 'edge',
        listen_port: port,
        targets: [{ host, port: targets[0] }]
      })
      t.equal(taken.state, 'active', 'and free')
      await cluster.call('DELETE', `/v1/rules/${taken.rule_id}`)
    }
  }
})
