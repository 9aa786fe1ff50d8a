// Deliveries: a plugin waits until the agent reports a result for a managed object.
import { setImmediate as nextTurn } from 'node:timers/promises'
import t from 'tap'
import { Fault, storeUnavailable } from '../../../kernel/base/errors.ts'
import type { Database } from '../../../kernel/store/open.ts'
import type { Reaction, ReceivedMessage } from '../../../kit/scripted-agent.ts'
import { notRepeated } from '../../../test/support/store.ts'
import { controlFixture, Put } from './fixture.ts'

const capability = { id: 'things', since: '1.0.0' }
const objectOf = (clientId: string, id = 'a') => ({ clientId, kind: 'thing', id })

t.test("a delivery resolves with the agent's result", async t => {
  const { enroll, connectAgent, sendPush, sendRemoval } = await controlFixture(t)
  const { clientId, token } = await enroll()
  const react = ({ body }: ReceivedMessage): Reaction =>
    body['id'] === 'bad' ? { refuse: 'port_in_use' } : 'accept'
  await connectAgent(token, { react })

  t.same(await (await sendPush(clientId)).answered(), { status: 'applied' })
  t.match(await (await sendPush(clientId, 'bad')).answered(), { status: 'refused', code: 'port_in_use' })
  t.same(await (await sendRemoval(clientId)).answered(), { status: 'removed' })
})

t.test('an answer that comes before the plugin waits for it is not lost', async t => {
  const { enroll, connectAgent, sendPush, control, waitForResults } = await controlFixture(t)
  const { clientId, token } = await enroll()
  await connectAgent(token)
  const delivery = await sendPush(clientId)

  control.objects.wake(clientId)
  await waitForResults(1)

  t.same(await delivery.answered(), { status: 'applied' })
})

t.test('a change is not acknowledged by the result of an earlier revision', async t => {
  const committed = Promise.withResolvers<void>()
  const isSent = Promise.withResolvers<void>()
  let isWatched = false
  const wrapStore = (opened: Database): Database => ({
    ...opened,
    async change(work) {
      const result = await opened.change(work)
      if (!isWatched) return result
      committed.resolve()
      await isSent.promise
      return result
    }
  })
  const { enroll, connectAgent, sendPush, control } = await controlFixture(t, { wrapStore })
  const { clientId, token } = await enroll()
  const reactions: Reaction[] = ['accept', { refuse: 'port_in_use' }]
  await connectAgent(token, { react: () => reactions.shift() ?? 'accept' })
  isWatched = true

  await sendPush(clientId) // the revision that restores a rule, for example
  control.objects.wake(clientId)
  await committed.promise // of its result
  const delivery = await sendPush(clientId)
  isSent.resolve()

  t.match(await delivery.answered(), { status: 'refused', code: 'port_in_use' })
})

t.test('a delivery without a row is a mistake of the plugin', async t => {
  const { enroll, control, store } = await controlFixture(t)
  const { clientId } = await enroll()

  await t.rejects(
    store.change(em => control.objects.deliver(em, objectOf(clientId), 'push')),
    /thing a has no revision/
  )
})

t.test('an answer that arrives while the store is unavailable is stored later', async t => {
  let isUnavailable = false
  const refused = Promise.withResolvers<void>()
  const wrapStore = (opened: Database): Database => ({
    ...opened,
    async change(work) {
      if (!isUnavailable) return opened.change(work)
      refused.resolve()
      throw new Fault(storeUnavailable, 'unavailable')
    }
  })
  const { enroll, connectAgent, put, waitForResults, results, events, clock } = await controlFixture(t, {
    wrapStore
  })
  const { clientId, token } = await enroll()
  const answering = Promise.withResolvers<void>()
  const agent = await connectAgent(token, { react: () => answering.promise })
  await put(clientId, 'a')
  await agent.until(Put.name)

  isUnavailable = true
  answering.resolve()
  await refused.promise
  for (let turn = 0; turn < 10; turn++) await nextTurn() // immediate retries would run here
  t.same(results, [])
  isUnavailable = false
  await clock.advance(2_000)
  await waitForResults(1)

  t.same(events('object.result_failed'), [])
})

t.test('many objects of one client and of others change together, each with its own revision', async t => {
  const { enroll, store, control, rows } = await controlFixture(t)
  const { clientId: paris } = await enroll('paris')
  const { clientId: lyon } = await enroll('lyon')
  const ids = Array.from({ length: 300 }, (_, i) => String(i).padStart(3, '0'))
  const objects = [objectOf(lyon, 'one'), ...ids.map(id => objectOf(paris, id))]

  const last = await store.change(em => control.objects.put(em, ...objects))
  await store.change(em => control.objects.drop(em, [objectOf(paris, '001'), objectOf(paris, '000')], 'cut'))

  t.equal(last, ids.length)
  t.same(await rows(lyon), ['one@1'])
  t.same(await rows(paris), [
    ...ids.slice(2).map(id => `${id}@${Number(id) + 1}`),
    `001@${ids.length + 1} cut`,
    `000@${ids.length + 2} cut`
  ])
})

t.test('a delivery does not wait for a client that is offline', async t => {
  const { enroll, sendPush } = await controlFixture(t)
  const { clientId } = await enroll()

  t.equal(await (await sendPush(clientId)).answered(), null)
})

t.test(
  'an agent without the capability for a kind gets no objects of it, and no delivery waits for it',
  async t => {
    const { enroll, connectAgent, put, drop, sendPush, waitForResults } = await controlFixture(t, {
      kinds: [{ capability }]
    })
    const { clientId, token } = await enroll()
    const { received } = await connectAgent(token, { capabilities: {} })
    await put(clientId, 'a', 'b')

    t.equal(await (await sendPush(clientId)).answered(), null)
    await drop(clientId, 'b', 'cut')
    await waitForResults(1)

    t.notOk(received.some(({ name }) => name === Put.name))
  }
)

t.test('a delivery ends without a result when it times out or the stream closes', async t => {
  const { enroll, connectAgent, sendPush, clock } = await controlFixture(t)
  const { clientId, token } = await enroll()
  const agent = await connectAgent(token, { react: () => 'never' })
  const deliveries = [await sendPush(clientId), await sendPush(clientId)]
  const [short, long] = [2, 60].map((secs, at) => deliveries[at]?.answered(secs))
  await agent.until(Put.name)

  await clock.advance(2_000)
  t.equal(await short, null)

  await agent.close()
  t.equal(await long, null)
})

t.test('a removal or a refusal by the plugin ends pending push deliveries', async t => {
  const { enroll, connectAgent, sendPush, sendRemoval, control } = await controlFixture(t)
  const { clientId, token } = await enroll()
  const agent = await connectAgent(token, { react: () => 'never' })
  const [removed, refused] = [await sendPush(clientId, 'a'), await sendPush(clientId, 'b')].map(one =>
    one.answered()
  )
  await agent.until(Put.name)

  await sendRemoval(clientId, 'a')
  control.objects.refuse(
    { ...objectOf(clientId, 'b'), revision: 2 },
    { code: 'internal', message: 'not encodable' }
  )

  t.same(await removed, { status: 'removed' })
  t.same(await refused, { status: 'refused', code: 'internal', message: 'not encodable' })
})

t.test(
  "objects of many clients are put in a few statements, and each gets its client's next revision",
  { skip: notRepeated('it counts statements') },
  async t => {
    let statements = 0
    const { control, store, enroll, rows } = await controlFixture(t)
    const clients = await Promise.all(Array.from({ length: 20 }, (_, i) => enroll(`edge-${i}`)))
    const [first, ...others] = clients
    if (!first) throw new RangeError('there are no clients')
    await store.change(em => control.objects.drop(em, objectOf(first.clientId), 'cut'))

    const last = await store.change(em => {
      const execute = em.execute.bind(em)
      const counting = (...args: Parameters<typeof execute>) => {
        statements += 1
        return execute(...args)
      }
      const keys = [
        ...others.map(({ clientId }) => objectOf(clientId)),
        objectOf(first.clientId),
        objectOf(first.clientId, 'b')
      ]
      return control.objects.put(Object.assign(em, { execute: counting }), ...keys)
    })

    t.same(await rows(first.clientId), ['a@2', 'b@3'], 'two objects of one client get two revisions')
    t.equal(last, 3)
    for (const { clientId } of others) t.same(await rows(clientId), ['a@1'])
    t.ok(statements <= clients.length / 2, `${statements} statements`)
    await t.rejects(
      store.change(em => control.objects.put(em, objectOf(first.clientId, 'c'), objectOf('nobody', 'c'))),
      /nobody is not enrolled/
    )
    t.same(await rows(first.clientId), ['a@2', 'b@3'], 'a failed put stores nothing')
  }
)
