// The outbox sends each change to a connected agent, in order, and again until there is an answer.
import t from 'tap'
import { Client } from '../../../kernel/identity/entities.ts'
import type { Reaction, ReceivedMessage } from '../../../kit/scripted-agent.ts'
import { controlFixture, Drop, Put } from './fixture.ts'

const idsOf = (received: readonly ReceivedMessage[]): unknown[] => received.map(({ body }) => body['id'])
const ticks = async (n: number): Promise<void> => {
  for (let i = 0; i < n; i++) await new Promise(resolve => setImmediate(resolve))
}

t.test('revisions count up per client, over all objects', async t => {
  const { enroll, put, drop, rows } = await controlFixture(t)
  const [one, two] = [await enroll(), await enroll()]

  await put(one.clientId, 'a', 'b')
  await put(two.clientId, 'a')
  await put(one.clientId, 'a')
  await drop(one.clientId, 'b', 'drain')

  t.same(await rows(one.clientId), ['a@3', 'b@4 drain'])
  t.same(await rows(two.clientId), ['a@1'])
})

t.test('a drain may become a cut, a cut never a drain, and a removed object may be put again', async t => {
  const { enroll, put, drop, rows } = await controlFixture(t)
  const { clientId } = await enroll()

  await drop(clientId, 'a', 'drain')
  t.same(await rows(clientId), ['a@1 drain'])
  await drop(clientId, 'a', 'cut')
  t.same(await rows(clientId), ['a@2 cut'])
  await drop(clientId, 'a', 'drain')
  t.same(await rows(clientId), ['a@3 cut'])
  await put(clientId, 'a')
  t.same(await rows(clientId), ['a@4'])
})

t.test('an unknown client can have no objects', async t => {
  const { put } = await controlFixture(t)

  await t.rejects(put('01J00000000000000000000000', 'a'), { message: /not enrolled/ })
})

t.test('a change that is rolled back takes no revision', async t => {
  const { enroll, control, store, put, rows } = await controlFixture(t)
  const { clientId } = await enroll()
  const work = store.change(async em => {
    await control.objects.put(em, { clientId, kind: 'thing', id: 'a' })
    throw new Error('no')
  })
  await t.rejects(work)

  await put(clientId, 'b')

  t.same(await rows(clientId), ['b@1'])
})

t.test('a refusal is recorded once, with its code, and the object not sent again on this stream', async t => {
  const { enroll, connectAgent, put, waitForResults } = await controlFixture(t)
  const { clientId, token } = await enroll()
  const react = ({ body }: ReceivedMessage): Reaction =>
    body['id'] === 'bad' ? { refuse: 'port_in_use' } : 'accept'
  const agent = await connectAgent(token, { react })

  await put(clientId, 'bad')
  await waitForResults(1)
  await put(clientId, 'good')

  t.same(await waitForResults(2), ['bad@1 port_in_use', 'good@2 applied'])
  t.same(idsOf(agent.received).slice(1), ['bad', 'good'])
})

t.test('a refused object is sent again on the next stream', async t => {
  const { enroll, connectAgent, put, waitForResults } = await controlFixture(t)
  const { clientId, token } = await enroll()
  const first = await connectAgent(token, { react: () => ({ refuse: 'activation_failed' }) })
  await put(clientId, 'a')
  await waitForResults(1)
  await first.close()

  await connectAgent(token)

  t.same(await waitForResults(2), ['a@1 activation_failed', 'a@1 applied'])
})

t.test('without an answer nothing is recorded, and the object is sent again every 15 s', async t => {
  const { enroll, connectAgent, put, waitForResults, results, clock, texts } = await controlFixture(t)
  const { clientId, token } = await enroll()
  const reactions: Reaction[] = ['never', 'never', 'accept']
  const agent = await connectAgent(token, { clock, react: () => reactions.shift() ?? 'accept' })
  await put(clientId, 'a')
  await agent.until(Put.name, 1)

  texts.set('a', 'a later text')
  for (const n of [2, 3]) {
    t.same(results, [])
    for (let second = 0; second < 15; second++) {
      await clock.advance(1_000)
      await ticks(3)
    }
    t.match(await agent.until(Put.name, n), { body: { revision: 1, text: 'a later text' } })
  }

  t.same(await waitForResults(1), ['a@1 applied'])
})

t.test('a removal overtakes the push that has no answer', async t => {
  const { enroll, connectAgent, put, drop, waitForResults, rows, clock } = await controlFixture(t)
  const { clientId, token } = await enroll()
  let reaction: Reaction = 'accept'
  const agent = await connectAgent(token, {
    clock,
    react: ({ name }) => (name === Put.name ? reaction : 'accept')
  })
  await put(clientId, 'first')
  await waitForResults(1) // from here on nothing waits for the comparison at its start
  reaction = 'never'
  await put(clientId, 'a')
  await agent.until(Put.name, 2)

  await drop(clientId, 'a', 'cut')

  t.same(await waitForResults(2), ['first@1 applied', 'a@3 removed'])
  for (let second = 0; second < 20; second++) {
    await clock.advance(1_000)
    await ticks(3)
  }
  t.same(agent.received.map(({ name }) => name).slice(2), [Put.name, Drop.name], 'the push is not repeated')
  t.same(await rows(clientId), ['first@1'])
})

t.test("an answer for a revision that is no longer the row's is not recorded", async t => {
  const { enroll, connectAgent, put, waitForResults } = await controlFixture(t)
  const { clientId, token } = await enroll()
  const late = Promise.withResolvers<void>()
  const reactions: Reaction[] = [late.promise, 'accept']
  const agent = await connectAgent(token, { react: () => reactions.shift() ?? 'accept' })
  await put(clientId, 'a')
  await agent.until(Put.name)

  await put(clientId, 'a')
  late.resolve()

  t.same(await waitForResults(1), ['a@2 applied'])
})

t.test('a stream that ends before an answer records nothing', async t => {
  const { enroll, connectAgent, put, waitForResults, results } = await controlFixture(t)
  const { clientId, token } = await enroll()
  const agent = await connectAgent(token, { react: () => 'never' })
  await put(clientId, 'a')
  await agent.until(Put.name)

  await agent.close()
  await ticks(5)
  t.same(results, [])

  await connectAgent(token)
  t.same(await waitForResults(1), ['a@1 applied'])
})

t.test('many changes at once arrive in the order in which they were made', async t => {
  const { enroll, connectAgent, put, waitForResults } = await controlFixture(t)
  const { clientId, token } = await enroll()
  const agent = await connectAgent(token)
  const ids = Array.from({ length: 200 }, (_, i) => `thing-${i}`)

  await put(clientId, ...ids)

  t.equal((await waitForResults(200)).length, 200)
  t.same(idsOf(agent.received).slice(1), ids)
})

t.test(
  'a removal with a drain is applied first; the row stays until the agent reports the object removed',
  async t => {
    const { enroll, connectAgent, put, drop, waitForResults, rows } = await controlFixture(t)
    const { clientId, token } = await enroll()
    const agent = await connectAgent(token)
    await put(clientId, 'a')
    await waitForResults(1)

    await drop(clientId, 'a', 'drain')
    t.same(await waitForResults(2), ['a@1 applied', 'a@2 applied'])
    t.same(await rows(clientId), ['a@2 drain'])
    agent.sendRemoved({ kind: 'thing', id: 'a', revision: 1 })
    agent.sendRemoved({ kind: 'nothing', id: 'a', revision: 2 })
    agent.sendRemoved({ kind: 'thing', id: 'a', revision: 2 })

    t.same((await waitForResults(3)).slice(2), ['a@2 removed'])
    t.same(await rows(clientId), [])
  }
)

t.test('ObjectRemoved changes nothing for an object that is not to be removed', async t => {
  const { enroll, connectAgent, put, waitForResults, rows } = await controlFixture(t)
  const { clientId, token } = await enroll()
  const agent = await connectAgent(token)
  await put(clientId, 'a')
  await waitForResults(1)

  agent.sendRemoved({ kind: 'thing', id: 'a', revision: 1 })
  agent.sendStatus({ kind: 'thing', id: 'a', revision: 1 })

  t.same(await waitForResults(2), ['a@1 applied', 'a@1 applied'])
  t.same(await rows(clientId), ['a@1'])
})

t.test('an agent reports the status of an object by itself', async t => {
  const { enroll, connectAgent, put, waitForResults } = await controlFixture(t)
  const { clientId, token } = await enroll()
  const agent = await connectAgent(token)
  await put(clientId, 'a')
  await waitForResults(1)

  agent.sendStatus({ kind: 'thing', id: 'a', revision: 1, code: 'port_in_use', message: 'taken' })
  await waitForResults(2) // of those that wait for the store together, only the last is recorded
  agent.sendStatus({ kind: 'thing', id: 'a', revision: 7, code: 'stale' })
  agent.sendStatus({ kind: 'thing', id: 'a', revision: 1 })

  t.same(await waitForResults(3), ['a@1 applied', 'a@1 port_in_use', 'a@1 applied'])
})

t.test('many reports at once are all recorded', async t => {
  const { enroll, connectAgent, put, waitForResults } = await controlFixture(t)
  const { clientId, token } = await enroll()
  const agent = await connectAgent(token)
  const ids = Array.from({ length: 600 }, (_, i) => `thing-${i}`)
  await put(clientId, ...ids)
  await waitForResults(600)

  for (const [i, id] of ids.entries()) agent.sendStatus({ kind: 'thing', id, revision: i + 1, code: 'down' })

  const recorded = (await waitForResults(1200)).slice(600)
  t.same(
    recorded,
    ids.map((id, i) => `${id}@${i + 1} down`)
  )
  t.notOk(agent.ended.aborted)
})

t.test('a result that cannot be recorded does not affect others', async t => {
  const { enroll, connectAgent, put, waitForResults, events } = await controlFixture(t, {
    kinds: [
      {
        async recordResult({ id }) {
          if (id === 'broken') throw new Error('of the plugin')
        }
      }
    ]
  })
  const { clientId, token } = await enroll()
  await connectAgent(token)

  await put(clientId, 'a', 'broken', 'b')

  t.same(await waitForResults(2), ['a@1 applied', 'b@3 applied'])
  t.match(events('object.result_failed'), [{ level: 'error', fields: { client_id: clientId } }])
})

t.test('after a failed load the outbox reconciles again after 15 s', async t => {
  let isBroken = true
  const { enroll, connectAgent, put, waitForResults, events, clock } = await controlFixture(t, {
    kinds: [
      {
        async load(rows) {
          if (isBroken) throw new Error('of the plugin')
          return new Map(rows.map(({ id, revision }) => [id, { id, revision, text: '' }]))
        }
      }
    ]
  })
  const { clientId, token } = await enroll()
  await put(clientId, 'a')
  await connectAgent(token, { clock })
  while (events('object.send_failed').length === 0) await ticks(1)

  isBroken = false
  for (let second = 0; second < 15; second++) {
    await clock.advance(1_000)
    await ticks(3)
  }

  t.same(await waitForResults(1), ['a@1 applied'])
})

t.test('a body that cannot be encoded is recorded as a refusal', async t => {
  const { enroll, connectAgent, put, waitForResults, events } = await controlFixture(t, {
    kinds: [{ load: async rows => new Map(rows.map(({ id }) => [id, { nothing: 'of the schema' }])) }]
  })
  const { clientId, token } = await enroll()
  await connectAgent(token)

  await put(clientId, 'a')

  t.same(await waitForResults(1), ['a@1 internal'])
  t.equal(events('object.send_failed').length, 1)
})

t.test('a client that is deleted while it is connected affects no other', async t => {
  const { enroll, connectAgent, put, waitForResults, store, control, log } = await controlFixture(t)
  const { clientId, token } = await enroll()
  const agent = await connectAgent(token)
  await put(clientId, 'a')
  await waitForResults(1)

  await store.change(em => em.nativeDelete(Client, { id: clientId }))
  control.peers.find(clientId)!.end('token_revoked')
  await agent.closed()
  await store.change(async () => {})

  t.same(
    log.filter(({ level }) => level === 'error'),
    []
  )
})
