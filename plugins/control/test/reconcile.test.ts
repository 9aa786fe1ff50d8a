// Reconciling sends the difference between the agent's objects and the rows, in order, until results are recorded.
import t from 'tap'
import { Inventory } from '../../../kernel/wire/control.ts'
import { scriptedResponse } from '../../../kit/scripted-agent.ts'
import { controlFixture, Drop, Put } from './fixture.ts'

t.test('a change is sent to a connected agent, and its answer recorded', async t => {
  const { enroll, connectAgent, put, waitForResults, rows } = await controlFixture(t)
  const { clientId, token } = await enroll()
  const agent = await connectAgent(token)

  await put(clientId, 'a')

  t.match(await agent.until(Put.name), { body: { id: 'a', revision: 1, text: 'text of a' } })
  t.same(await waitForResults(1), ['a@1 applied'])
  t.same(await rows(clientId), ['a@1'])
})

t.test('changes made while the agent was offline are sent when it joins, in order of revision', async t => {
  const { enroll, connectAgent, put, waitForResults } = await controlFixture(t)
  const { clientId, token } = await enroll()
  await put(clientId, 'b', 'a', 'c')

  const agent = await connectAgent(token)

  t.same(await waitForResults(3), ['b@1 applied', 'a@2 applied', 'c@3 applied'])
  t.same(
    agent.received.map(({ body: { id } }) => id),
    [undefined, 'b', 'a', 'c']
  )
})

t.test("an agent with the server's digest gets nothing, and its rows are recorded as applied", async t => {
  const { enroll, connectAgent, put, waitForResults, control } = await controlFixture(t)
  const { clientId, token } = await enroll()
  await put(clientId, 'a', 'b')
  const first = await connectAgent(token)
  const { generation } = first.welcome
  await waitForResults(2)
  await first.close()

  const inventory = [
    { kind: 'thing', id: 'b', revision: 2 },
    { kind: 'thing', id: 'a', revision: 1 }
  ]
  const again = await connectAgent(token, { inventory, generation })

  t.same((await waitForResults(4)).slice(2), ['a@1 applied', 'b@2 applied'])
  t.same(again.received, [])
  t.ok(again.bytesReceived() < 10_240, `${again.bytesReceived()} bytes`)
  t.ok(control.peers.find(clientId))
})

t.test('a returning fleet records nothing for rows that are stored as applied', async t => {
  const settled = async () => new Set(['a'])
  const { enroll, connectAgent, put, waitForResults } = await controlFixture(t, { kinds: [{ settled }] })
  const { clientId, token } = await enroll()
  await put(clientId, 'a', 'b')
  const first = await connectAgent(token)
  await waitForResults(2)
  await first.close()
  const inventory = ['a', 'b'].map((id, i) => ({ kind: 'thing', id, revision: i + 1 }))

  const again = await connectAgent(token, { inventory, generation: first.welcome.generation })
  await waitForResults(3) // it has compared what it has
  await put(clientId, 'c')

  t.same(await waitForResults(4), ['a@1 applied', 'b@2 applied', 'b@2 applied', 'c@3 applied'])
  t.same(
    again.received.map(({ body: { id } }) => id),
    ['c']
  )
})

t.test('only the difference is sent', async t => {
  const { enroll, connectAgent, put, waitForResults } = await controlFixture(t)
  const { clientId, token } = await enroll()
  await put(clientId, 'same', 'changed', 'new')
  await put(clientId, 'changed')
  const inventory = [
    { kind: 'thing', id: 'same', revision: 1 },
    { kind: 'thing', id: 'changed', revision: 2 },
    { kind: 'thing', id: 'stray', revision: 9 }
  ]

  const agent = await connectAgent(token, { inventory })
  await waitForResults(3)

  t.match(
    agent.received.map(({ name, body: { id } }) => [name, id]),
    [
      [Inventory.name, undefined],
      [Drop.name, 'stray'],
      [Put.name, 'new'],
      [Put.name, 'changed']
    ]
  )
})

t.test(
  'removals are sent first, then the kinds, the last filled first, each answered before the next',
  async t => {
    const names = ['thing', 'limit'] // a limit needs things: it is sent before them
    const { enroll, connectAgent, store, control, waitForResults, texts } = await controlFixture(t, {
      kinds: names.map(kind => ({ kind }))
    })
    const { clientId, token } = await enroll()
    await store.change(async em => {
      for (const id of ['t1', 'l1', 't2', 'l2']) {
        texts.set(id, id)
        await control.objects.put(em, { clientId, kind: id.startsWith('t') ? 'thing' : 'limit', id })
      }
      await control.objects.drop(em, { clientId, kind: 'thing', id: 'old' }, 'drain')
    })

    const agent = await connectAgent(token, { inventory: [{ kind: 'thing', id: 'old', revision: 1 }] })
    await waitForResults(5)

    t.same(
      agent.received.slice(1).map(({ body }) => body['id']),
      ['old', 'l1', 'l2', 't1', 't2']
    )
    t.same(agent.welcome.kinds, names)
  }
)

t.test(
  'a removal at a reconnect is recorded if the object is gone or drains, else sent as drain or cut',
  async t => {
    const { enroll, connectAgent, drop, waitForResults, rows } = await controlFixture(t)
    const { clientId, token } = await enroll()
    await drop(clientId, 'gone', 'drain')
    await drop(clientId, 'live', 'drain')
    await drop(clientId, 'draining', 'drain')
    await drop(clientId, 'cut', 'cut')
    const inventory = [
      { kind: 'thing', id: 'live', revision: 0 },
      { kind: 'thing', id: 'draining', revision: 3, state: 'draining' as const },
      { kind: 'thing', id: 'cut', revision: 0, state: 'draining' as const }
    ]

    const agent = await connectAgent(token, { inventory })
    await waitForResults(4)

    t.match(
      agent.received.slice(1).map(({ body: { id, removal } }) => [id, removal]),
      [
        ['live', 'drain'],
        ['cut', 'cut']
      ]
    )
    t.same((await waitForResults(4)).toSorted(), [
      'cut@4 removed',
      'draining@3 applied',
      'gone@1 removed',
      'live@2 applied'
    ])
    t.same(await rows(clientId), ['live@2 drain', 'draining@3 drain'])
  }
)

t.test('an object without a row is cut, unless it drains already', async t => {
  const { enroll, connectAgent, put, waitForResults } = await controlFixture(t)
  const { clientId, token } = await enroll()
  const inventory = [
    { kind: 'thing', id: 'stray', revision: 1 },
    { kind: 'thing', id: 'waits', revision: 1, state: 'waiting' as const },
    { kind: 'thing', id: 'drains', revision: 1, state: 'draining' as const },
    { kind: 'unknown', id: 'x', revision: 1 }
  ]

  const agent = await connectAgent(token, { inventory })
  await put(clientId, 'last')
  await waitForResults(1)

  t.match(
    agent.received.slice(1).map(({ name, body: { id, removal } }) => [name, id, removal]),
    [
      [Drop.name, 'stray', 'cut'],
      [Drop.name, 'waits', 'cut'],
      [Put.name, 'last', undefined]
    ]
  )
})

t.test(
  'a failed object without a row is cut when the agent reports it, although the digests are equal',
  async t => {
    const { enroll, connectAgent, put, waitForResults } = await controlFixture(t)
    const { clientId, token } = await enroll()
    await put(clientId, 'a')
    const first = await connectAgent(token)
    const { generation } = first.welcome
    await waitForResults(1)
    await first.close()
    const inventory = [
      { kind: 'thing', id: 'a', revision: 1 },
      { kind: 'thing', id: 'stray', revision: 1, state: 'waiting' as const }
    ]
    const agent = await connectAgent(token, { inventory, generation })
    await waitForResults(2)
    t.same(agent.received, [])

    agent.sendStatus({ kind: 'thing', id: 'stray', revision: 1, code: 'port_in_use', message: 'taken' })

    t.match(await agent.until(Drop.name), { body: { id: 'stray', removal: 'cut' } })
    await put(clientId, 'b')
    t.match(await agent.until(Put.name), { body: { id: 'b' } }, 'later changes are sent as before')
  }
)

t.test('an object without a body is not sent, but removed from the agent', async t => {
  const { enroll, connectAgent, put, texts, waitForResults, rows } = await controlFixture(t)
  const { clientId, token } = await enroll()
  await put(clientId, 'whole', 'no body')
  texts.delete('no body')
  const inventory = [
    { kind: 'thing', id: 'whole', revision: 1 },
    { kind: 'thing', id: 'no body', revision: 2 }
  ]

  const agent = await connectAgent(token, { inventory })
  await agent.until(Drop.name)

  t.match(
    agent.received.slice(1).map(({ name, body: { id, removal } }) => [name, id, removal]),
    [[Drop.name, 'no body', 'cut']]
  )
  t.same(await waitForResults(1), ['whole@1 applied'])
  t.same(await rows(clientId), ['whole@1', 'no body@2'])
})

t.test('an object that failed on the agent is sent again, and the answer recorded', async t => {
  const { enroll, connectAgent, put, waitForResults } = await controlFixture(t)
  const { clientId, token } = await enroll()
  await put(clientId, 'a')
  const inventory = [{ kind: 'thing', id: 'a', revision: 1, state: 'waiting' as const }]

  await connectAgent(token, { inventory, react: () => ({ refuse: 'port_in_use' }) })

  t.same(await waitForResults(1), ['a@1 port_in_use'])
})

t.test('an agent with another generation gets everything again', async t => {
  const { enroll, connectAgent, put, waitForResults } = await controlFixture(t)
  const { clientId, token } = await enroll()
  await put(clientId, 'a')
  const inventory = [{ kind: 'thing', id: 'a', revision: 0 }]

  const agent = await connectAgent(token, { inventory, generation: 'of another store' })

  t.same(await waitForResults(1), ['a@1 applied'])
  t.match(agent.received.slice(1), [{ name: Put.name, body: { id: 'a', revision: 1 } }])
})

t.test("revisions above the server's counter raise it", async t => {
  const { enroll, connectAgent, put, drop, waitForResults, rows } = await controlFixture(t)
  const { clientId, token } = await enroll()
  await put(clientId, 'ahead', 'behind')
  await drop(clientId, 'dropped', 'cut')
  const inventory = [
    { kind: 'thing', id: 'ahead', revision: 40 },
    { kind: 'thing', id: 'dropped', revision: 50 },
    { kind: 'thing', id: 'stray', revision: 60 }
  ]

  await connectAgent(token, { inventory })
  await waitForResults(3)
  t.equal(await put(clientId, 'next'), 63)

  t.same((await waitForResults(4)).toSorted(), [
    'ahead@61 applied',
    'behind@2 applied',
    'dropped@62 removed',
    'next@63 applied'
  ])
  t.same(await rows(clientId), ['behind@2', 'ahead@61', 'next@63'])
})

t.test('an inventory is read page by page', async t => {
  const { enroll, connectAgent, put, waitForResults } = await controlFixture(t)
  const { clientId, token } = await enroll()
  const ids = Array.from({ length: 350 }, (_, i) => `thing-${String(i).padStart(3, '0')}`)
  await put(clientId, ...ids)
  const inventory = ids.slice(1).map((id, i) => ({ kind: 'thing', id, revision: i + 2 }))

  const agent = await connectAgent(token, { inventory })
  await waitForResults(350)

  t.equal(agent.received.filter(({ name }) => name === Inventory.name).length, 4)
  t.match(
    agent.received.filter(({ name }) => name === Put.name),
    [{ body: { id: ids[0] } }]
  )
})

t.test('a change made while an agent reconciles is not lost', async t => {
  const { enroll, connectAgent, put, waitForResults } = await controlFixture(t)
  const { clientId, token } = await enroll()
  await put(clientId, 'a')
  const late = Promise.withResolvers<void>()
  const agent = await connectAgent(token, { react: () => late.promise })
  await agent.until(Put.name)

  await put(clientId, 'a', 'b')
  late.resolve()

  t.same(await waitForResults(2), ['a@2 applied', 'b@3 applied'])
})

t.test('an inventory that never ends names its client in the log', async t => {
  const { enroll, connectAgent, put, events } = await controlFixture(t)
  const { clientId, token } = await enroll()
  await put(clientId, 'a')
  const rows = [{ kind: 'thing', id: 'x', revision: 1, code: '', message: '', state: 'applied' as const }]

  await connectAgent(token, { responses: [scriptedResponse(Inventory, () => ({ rows, more: true }))] })
  while (events('object.send_failed').length === 0) await new Promise(setImmediate)

  t.match(events('object.send_failed'), [
    { fields: { client_id: clientId, error: /the inventory does not end/ } }
  ])
})
