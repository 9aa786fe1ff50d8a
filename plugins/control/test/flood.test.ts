// An agent that sends more than its share, or claims what the server never gave.
import t from 'tap'
import { controlFixture } from './fixture.ts'

const manyStatuses = 1_000

t.test('1,000 statuses of an object are recorded as a few results, including the last one', async t => {
  const { enroll, put, connectAgent, results, waitForResults } = await controlFixture(t)
  const { clientId, token } = await enroll()
  const revision = await put(clientId, 'a')
  const { sendStatus } = await connectAgent(token)
  await waitForResults(1)

  for (let i = 0; i < manyStatuses; i++) sendStatus({ kind: 'thing', id: 'a', revision, code: `code-${i}` })
  while (!results.at(-1)?.endsWith(`code-${manyStatuses - 1}`)) await waitForResults(results.length + 1)

  t.ok(results.length < manyStatuses / 2, `${results.length} results`)
})

t.test('statuses of unknown objects trigger one comparison in 15 s, not one each', async t => {
  const { enroll, connectAgent, clock } = await controlFixture(t)
  const { token } = await enroll()
  const { sendStatus, received, until } = await connectAgent(token)
  const inventories = (): number => received.filter(({ name }) => name === 'sluice.control.Inventory').length

  for (let i = 0; i < 500; i++) sendStatus({ kind: 'thing', id: `made-up-${i}`, revision: 1 })
  await until('sluice.control.Inventory')
  const first = inventories()
  await clock.advance(15_000)
  await until('sluice.control.Inventory', first + 1)

  t.ok(first <= 2, `${first} inventories`)
})

t.test(
  'a revision of 2^52 gives the client a new generation, and its counter stays where it was',
  async t => {
    const { enroll, put, connectAgent, events, waitForResults } = await controlFixture(t)
    const { clientId, token } = await enroll()
    await put(clientId, 'a', 'b')
    const liar = await connectAgent(token, { inventory: [{ kind: 'thing', id: 'a', revision: 2 ** 52 }] })

    await liar.closed()
    const { welcome, until } = await connectAgent(token, {
      inventory: [{ kind: 'thing', id: 'a', revision: 0 }]
    })
    await until('sluice.thing.Put', 2)
    await waitForResults(2)

    t.equal(liar.endCode(), 'revision_implausible')
    t.not(welcome.generation, liar.welcome.generation)
    t.match(events('client.revision_implausible'), [{ fields: { client_id: clientId, revision: 2 ** 52 } }])
    t.ok((await put(clientId, 'a')) < 10, 'later revisions continue from the last one given')
  }
)

t.test('a revision that a rolled-back store has lost is adopted in the same generation', async t => {
  const { enroll, put, connectAgent, waitForResults } = await controlFixture(t)
  const { clientId, token } = await enroll()
  await put(clientId, 'a')
  const { ended, welcome } = await connectAgent(token, {
    inventory: [{ kind: 'thing', id: 'a', revision: 5_000 }]
  })
  await waitForResults(1)

  t.notOk(ended.aborted)
  t.ok((await put(clientId, 'a')) > 5_000)
  t.equal((await connectAgent(token)).welcome.generation, welcome.generation)
})
