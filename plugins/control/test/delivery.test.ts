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
  const { enroll, connectAgent, put, drop, control } = await controlFixture(t)
  const { clientId, token } = await enroll()
  const react = ({ body }: ReceivedMessage): Reaction =>
    body['id'] === 'bad' ? { refuse: 'port_in_use' } : 'accept'
  await connectAgent(token, { react })

  await put(clientId, 'a')
  t.same(await control.objects.deliver(objectOf(clientId), 'push'), { status: 'applied' })
  await put(clientId, 'bad')
  t.match(await control.objects.deliver(objectOf(clientId, 'bad'), 'push'), {
    status: 'refused',
    code: 'port_in_use'
  })
  await drop(clientId, 'a', 'cut')
  t.same(await control.objects.deliver(objectOf(clientId), 'remove'), { status: 'removed' })
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

t.test('a delivery does not wait for a client that is offline', async t => {
  const { enroll, put, control } = await controlFixture(t)
  const { clientId } = await enroll()
  await put(clientId, 'a')

  t.equal(await control.objects.deliver(objectOf(clientId), 'push'), null)
})

t.test(
  'an agent without the capability for a kind gets no objects of it, and no delivery waits for it',
  async t => {
    const { enroll, connectAgent, put, drop, waitForResults, control } = await controlFixture(t, {
      kinds: [{ capability }]
    })
    const { clientId, token } = await enroll()
    const { received } = await connectAgent(token, { capabilities: {} })
    await put(clientId, 'a', 'b')

    t.equal(await control.objects.deliver(objectOf(clientId), 'push'), null)
    await drop(clientId, 'b', 'cut')
    await waitForResults(1)

    t.notOk(received.some(({ name }) => name === Put.name))
  }
)

t.test('a delivery ends without a result when it times out or the stream closes', async t => {
  const { enroll, connectAgent, put, control, clock } = await controlFixture(t)
  const { clientId, token } = await enroll()
  const agent = await connectAgent(token, { react: () => 'never' })
  await put(clientId, 'a')
  await agent.until(Put.name)
  const [short, long] = [2, 60].map(secs => control.objects.deliver(objectOf(clientId), 'push', secs))

  await clock.advance(2_000)
  t.equal(await short, null)

  await agent.close()
  t.equal(await long, null)
})

t.test('a removal or a refusal by the plugin ends pending push deliveries', async t => {
  const { enroll, connectAgent, put, control } = await controlFixture(t)
  const { clientId, token } = await enroll()
  const agent = await connectAgent(token, { react: () => 'never' })
  await put(clientId, 'a', 'b')
  await agent.until(Put.name)
  const [removed, refused] = ['a', 'b'].map(id => control.objects.deliver(objectOf(clientId, id), 'push'))

  void control.objects.deliver(objectOf(clientId), 'remove')
  control.objects.refuse(objectOf(clientId, 'b'), { code: 'internal', message: 'not encodable' })

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
