// Owners take turns on the stream of a client.
import t, { type Test } from 'tap'
import type { Reaction, ReceivedMessage } from '../../../kit/scripted-agent.ts'
import { controlFixture, Put } from './fixture.ts'

/** The owner of a thing is the part of its id before the dash. */
const ownedThings = {
  kinds: [
    {
      owners: async (rows: readonly { readonly id: string }[]) =>
        new Map(rows.map(({ id }) => [id, id.split('-')[0] ?? '']))
    }
  ]
}

const idsOf = (received: readonly ReceivedMessage[]): string[] =>
  received.filter(({ name }) => name === Put.name).map(({ body }) => String(body['id']))

const things = (owner: string, count: number): string[] =>
  Array.from({ length: count }, (_, at) => `${owner}-${at}`)

t.test("the change of one owner does not wait for a thousand changes of another's", async t => {
  const { enroll, connectAgent, put, waitForResults } = await controlFixture(t, ownedThings)
  const { clientId, token } = await enroll()
  const gate = Promise.withResolvers<void>()
  const react = ({ body }: ReceivedMessage): Reaction => (body['id'] === 'ann-0' ? gate.promise : 'accept')
  const agent = await connectAgent(token, { react })
  await put(clientId, ...things('ann', 1000))
  await agent.until(Put.name, 1)

  await put(clientId, 'bob-0')
  gate.resolve()
  await waitForResults(1001)

  const sent = idsOf(agent.received)
  t.ok(sent.indexOf('bob-0') < 200, `sent as number ${sent.indexOf('bob-0')}`)
  t.same(
    sent.filter(id => id !== 'bob-0'),
    things('ann', 1000),
    'the changes of each owner keep their order'
  )
})

t.test('unanswered changes of one owner do not delay the change of another', async t => {
  const { enroll, connectAgent, put } = await controlFixture(t, ownedThings)
  const { clientId, token } = await enroll()
  const agent = await connectAgent(token, { react: () => 'never' })
  await put(clientId, ...things('ann', 200))
  await agent.until(Put.name, 4)

  await put(clientId, 'bob-0')
  await agent.until(Put.name, 5)

  t.same(idsOf(agent.received), [...things('ann', 4), 'bob-0'])
})

t.test('at most 64 changes are unanswered, however many owners there are', async t => {
  const { enroll, connectAgent, put } = await controlFixture(t, ownedThings)
  const { clientId, token } = await enroll()
  const agent = await connectAgent(token, { react: () => 'never' })
  const owners = Array.from({ length: 100 }, (_, at) => `owner${at}-0`)
  await put(clientId, ...things('ann', 100), ...owners)
  await agent.until(Put.name, 64)
  for (let i = 0; i < 100; i++) await new Promise(resolve => setImmediate(resolve))

  t.equal(idsOf(agent.received).length, 64)
})

/** Sends 400 changes of ann, then one of bob while the first waits for its result. Returns all results. */
async function overtakeAnn(t: Test, react: (id: string) => Reaction) {
  const { enroll, connectAgent, put, waitForResults } = await controlFixture(t, ownedThings)
  const { clientId, token } = await enroll()
  const gate = Promise.withResolvers<void>()
  const agent = await connectAgent(token, {
    react: ({ body: { id } }: ReceivedMessage) => (id === 'ann-0' ? gate.promise : react(String(id)))
  })
  await put(clientId, ...things('ann', 400))
  await agent.until(Put.name, 1)
  await put(clientId, 'bob-0')
  gate.resolve()
  const results = await waitForResults(401)
  return { agent, bobs: results.filter(result => result.startsWith('bob-0')) }
}

t.test('a change that needs an earlier one of another owner is not refused for overtaking it', async t => {
  let isFree = false
  let refusals = 0

  const { bobs } = await overtakeAnn(t, id => {
    if (id === 'ann-399') isFree = true // moves off the port
    if (id !== 'bob-0' || isFree) return 'accept'
    refusals++
    return { refuse: 'port_in_use' }
  })

  t.equal(refusals, 1)
  t.same(bobs, ['bob-0@401 applied'])
})

t.test('a refusal that no earlier change explains is recorded once', async t => {
  const { agent, bobs } = await overtakeAnn(t, id => (id === 'bob-0' ? { refuse: 'port_in_use' } : 'accept'))

  t.same(bobs, ['bob-0@401 port_in_use'])
  t.equal(idsOf(agent.received).filter(id => id === 'bob-0').length, 2)
})
