// Live connections as events, over real sockets.
import t from 'tap'
import { type RunningAgent, runAgent, testAgent } from '../../../kit/public.ts'
import type { TestServer } from '../../../kit/test-server.ts'
import type { ConnectionsEvent } from '../schema.ts'
import { openApp, openStream, tokenOf } from './fixture.ts'

/** Counts the questions to an engine. */
function countQuestions({ engine }: RunningAgent): () => number {
  const { connections } = engine
  let count = 0
  engine.connections = () => {
    count++
    return connections.call(engine)
  }
  return () => count
}

/** Resolves with the first event that fits; time passes until then. */
async function eventThat(
  { clock }: TestServer,
  next: () => Promise<ConnectionsEvent | null>,
  fits: (event: ConnectionsEvent) => boolean
): Promise<ConnectionsEvent> {
  for (;;) {
    let found: ConnectionsEvent | null | undefined
    const arrived = next().then(event => {
      found = event
    })
    while (found === undefined) await clock.advance(100)
    await arrived
    if (!found) throw new TypeError('the stream has ended')
    if (fits(found)) return found
  }
}

t.test('an event has the first rows, the sums of all, and each client', async t => {
  const { server, agent, push, open } = await openApp(t)
  const rule_id = await push('ann', 8080)
  agent.engine.openConnections = [open(1), open(2, { bytesIn: 500 })]
  const { next } = await openStream(t, server, '?sort=bytes&limit=1')

  const event = await next()

  t.match(event, {
    ...{ matched: 2, bytes_in: 510, bytes_out: 40, clients_answered: 1, clients_silent: 0 },
    clients: [{ client_id: agent.clientId, client_name: 'edge', state: 'answered', matched: 2 }],
    connections: [{ rule_id, owner: 'ann', rtt_ms: { caller: 12.5 } }]
  })
  t.equal(event?.connections.length, 1)
  agent.engine.openConnections = []
  await server.clock.advance(1000)
  t.match(await next(), { matched: 0, connections: [], clients: [{ state: 'answered', matched: 0 }] })
})

t.test('a client that does not answer is shown as unknown, not as empty', async t => {
  const { server, agent, push, open } = await openApp(t)
  await push('ann', 8080)
  agent.engine.openConnections = [open(1)]
  await testAgent(t, server, 'mute')
  await testAgent(t, server, 'old', { capabilities: null, version: '1.9.0' })
  const { next } = await openStream(t, server)
  const stateOf = (event: ConnectionsEvent, name: string) =>
    event.clients.find(({ client_name }) => client_name === name)?.state

  t.match(await eventThat(server, next, event => stateOf(event, 'edge') === 'answered'), {
    ...{ matched: 1, clients_answered: 1, clients_silent: 2 },
    clients: [
      { client_name: 'mute', state: 'no_answer', matched: null },
      { client_name: 'old', state: 'unsupported', matched: null },
      { client_name: 'edge', state: 'answered', matched: 1 }
    ]
  })

  await agent.stop()
  t.match(await eventThat(server, next, event => stateOf(event, 'edge') === 'disconnected'), {
    ...{ matched: 0, clients_answered: 0, clients_silent: 3, connections: [] }
  })
})

t.test('equal streams share one poll a second, and without streams there is no poll', async t => {
  const { server, agent, push, open } = await openApp(t)
  await push('ann', 8080)
  agent.engine.openConnections = [open(1)]
  const questions = countQuestions(agent)
  const [first, second] = [await openStream(t, server), await openStream(t, server)]
  await first.next()
  await server.clock.advance(1000)
  await Promise.all([first.next(), second.next()])
  const before = questions()

  await server.clock.advance(1000)
  await Promise.all([first.next(), second.next()])

  t.equal(questions(), before + 1)

  await Promise.all([first.close(), second.close()])
  await server.clock.advance(1000) // the poll under way
  const after = questions()
  await server.clock.advance(10_000)
  t.equal(questions(), after)
})

t.test('at most four polls of one user begin at once, and the others 30 ms apart', async t => {
  const { server, agent, push, open } = await openApp(t)
  await push('ann', 8080)
  agent.engine.openConnections = [open(1)]
  const questions = countQuestions(agent)
  const limits = [1, 2, 3, 4, 5, 6]
  const streams = await Promise.all(limits.map(limit => openStream(t, server, `?limit=${limit}`)))
  const events = streams.map(({ next }) => next())

  await Promise.all(events.slice(0, 4))
  t.equal(questions(), 4)

  await server.clock.advance(30)
  await events[4]
  t.equal(questions(), 5)

  await server.clock.advance(31)
  await events[5]
  t.equal(questions(), 6)
})

t.test('polls of one user for many rows are further apart', async t => {
  const { server, agent, push, open } = await openApp(t)
  await push('ann', 8080)
  agent.engine.openConnections = [open(1)]
  const questions = countQuestions(agent)
  const [first, second] = [
    await openStream(t, server, '?limit=500'),
    await openStream(t, server, '?limit=499')
  ]
  await first.next()
  t.equal(questions(), 1)

  await server.clock.advance(29)
  t.equal(questions(), 1)
  await server.clock.advance(1)
  await second.next()
  t.equal(questions(), 2)
})

t.test('many clients yield the same first rows as one', async t => {
  const { server, agent, push, open } = await openApp(t)
  await push('ann', 8080)
  agent.engine.openConnections = Array.from({ length: 40 }, (_, at) => open(at + 1, { key: 1000 - at }))
  for (const name of ['lyon', 'nice', 'metz', 'caen']) await runAgent(t, server, name)
  const { next } = await openStream(t, server, '?limit=30')

  const event = await next()

  t.strictSame(
    event?.connections.map(({ source }) => source),
    Array.from({ length: 30 }, (_, at) => `198.51.100.7:${50_001 + at}`)
  )
})

t.test('users see their own connections with any filter', async t => {
  const { server, agent, push, open } = await openApp(t)
  await push('ann', 8080)
  agent.engine.openConnections = [open(1)]
  const [ann, bob] = [await tokenOf(server, 'ann'), await tokenOf(server, 'bob')]
  await server.as({ user: 'root', role: 'superadmin' })('GET', '/v1/users/me') // ends onboarding
  const event = async (query: string, token: string) => (await openStream(t, server, query, token)).next()

  t.match(await event('', ann), {
    matched: 1,
    clients: [{ client_name: 'edge' }],
    connections: [{ owner: 'ann' }]
  })
  for (const query of ['', '?owner=ann', '?client=edge'])
    t.match(await event(query, bob), { matched: 0, clients: [], connections: [] }, query)
})

t.test('an invalid query is refused before the first event', async t => {
  const { server } = await openApp(t)
  for (const query of ['?limit=501', '?sort=size', '?source=everywhere', '?cursor=1'])
    t.match(await server.call('GET', `/v1/connections/stream${query}`), {
      status: 400,
      body: { error: { code: /^validation\./ } }
    })
})
