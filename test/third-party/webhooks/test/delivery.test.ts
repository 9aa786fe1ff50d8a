// Delivery of events: retries, order and dead letters.
import t from 'tap'
import { testServer } from '../../../../kit/test-server.ts'
import type { Dispatcher } from '../dispatcher.ts'
import {
  plugin,
  plugins,
  provideSecret,
  putEvent,
  sectionOf,
  type WebhooksFixture,
  webhooksFixture
} from './fixture.ts'
import { openReceiver } from './receiver.ts'

const { Delivery } = await import('../entities.ts') // after the fixture made sluice/plugin available
const { maxAttempts, maxDead, maxWaiting, retryAfterMs } = await import('../queue.ts')

const second = 1_000

const idsOf = ({ hook }: WebhooksFixture): string[] =>
  hook.received.map(({ json }) => String(json.data['rule_id']))

t.test('the delay doubles from 10 s to one hour', async t => {
  t.same([1, 2, 3, 9, 10, 11].map(retryAfterMs), [10_000, 20_000, 40_000, 2_560_000, 3_600_000, 3_600_000])
})

t.test('a failed delivery is retried with the same id and body, and later events wait', async t => {
  const fixture = await webhooksFixture(t)
  fixture.hook.answer(503)
  await putEvent(fixture, 'one')
  await putEvent(fixture, 'two')
  await fixture.clock.advance(second)
  await fixture.hook.until(1)
  t.match(await fixture.settled(({ error }) => error !== null), {
    waiting: 2,
    error: 'response status 503',
    next_at: '2026-01-15T12:00:11.000Z'
  })
  await fixture.clock.advance(9 * second)
  t.equal(fixture.hook.received.length, 1, 'no early retry')
  fixture.hook.answer(204)

  await fixture.clock.advance(second)
  await fixture.hook.until(3)

  t.same(idsOf(fixture), ['one', 'one', 'two'])
  const [first, again] = fixture.hook.received
  t.equal(again?.text, first?.text)
  t.equal(again?.headers['webhook-id'], first?.headers['webhook-id'])
  t.not(again?.headers['webhook-timestamp'], first?.headers['webhook-timestamp'], 'a new signature')
  t.match(await fixture.settled(({ waiting }) => waiting === 0), { dead: 0, error: null, next_at: null })
})

t.test(
  'after 12 attempts an event is a dead letter, the next one is delivered, and a retry starts over',
  async t => {
    const fixture = await webhooksFixture(t)
    fixture.hook.answer(500)
    await putEvent(fixture, 'one')
    await fixture.server
      .depsOf('webhooks')
      .store.change(em => em.nativeUpdate(Delivery, {}, { attempts: maxAttempts - 1 }))
    await fixture.clock.advance(second)
    await fixture.settled(({ dead }) => dead === 1)
    const [letter] = await fixture.dead()
    t.match(letter, { endpoint: 'ops', event: 'rule.failed', attempts: 12, error: 'response status 500' })
    t.match(fixture.log.at(-1), {
      event: 'webhook.dead',
      fields: { endpoint: 'ops', delivery: letter?.delivery_id }
    })
    fixture.hook.answer(200)
    await putEvent(fixture, 'two')
    await fixture.clock.advance(second)
    await fixture.hook.until(2)
    await fixture.settled(({ waiting, dead }) => waiting === 0 && dead === 1)

    const retried = await fixture.call('POST', `/v1/webhooks/dead-letters/${letter?.delivery_id}/retry`)
    t.equal(retried.status, 200)
    t.match(fixture.decisions.at(-1), { action: 'webhook.retry', resourceId: letter?.delivery_id })
    await fixture.clock.advance(second)
    await fixture.hook.until(3)

    t.same(idsOf(fixture), ['one', 'two', 'one'])
    await fixture.settled(({ waiting, dead }) => waiting === 0 && dead === 0)
    t.match(await fixture.call('POST', `/v1/webhooks/dead-letters/${letter?.delivery_id}/retry`), {
      status: 404,
      body: { error: { code: 'dead_letter_not_found' } }
    })
  }
)

t.test('waiting events survive a restart, and become dead letters if their endpoint is removed', async t => {
  const first = await webhooksFixture(t)
  await putEvent(first, 'one')
  await first.stop()

  const second = await webhooksFixture(t, { dir: first.dir, clock: first.clock, hook: first.hook })
  await second.clock.advance(1_000)
  await second.hook.until(1)
  t.same(idsOf(second), ['one'])
  await second.settled(({ waiting }) => waiting === 0)
  await putEvent(second, 'two')
  await second.stop()

  const endpoint = { name: 'others' }
  const third = await webhooksFixture(t, { dir: first.dir, clock: first.clock, hook: first.hook, endpoint })
  const [letter] = await third.dead()
  t.match(letter, { endpoint: 'ops', error: 'the endpoint is no longer configured' })
  const path = `/v1/webhooks/dead-letters/${letter?.delivery_id}`
  t.match(await third.call('POST', `${path}/retry`), { body: { error: { code: 'webhook_not_found' } } })
  t.match(await third.call('DELETE', path), { status: 204 })
  t.match(await third.call('DELETE', path), { body: { error: { code: 'dead_letter_not_found' } } })
  t.same(await third.dead(), [])
})

t.test('an interrupted attempt does not count', async t => {
  const fixture = await webhooksFixture(t)
  fixture.hook.answer(() => {})
  await putEvent(fixture, 'one')
  await fixture.clock.advance(second)
  await fixture.hook.until(1)
  const { dispatcher } = fixture.server.depsOf('webhooks') as unknown as { dispatcher: Dispatcher } // of the plugin
  await fixture.stop()
  t.notMatch(fixture.log, [{ event: 'webhook.failed' }])
  t.equal(dispatcher.count('ops', 'failed'), 0)

  fixture.hook.answer(200)
  const again = await webhooksFixture(t, { dir: fixture.dir, clock: fixture.clock, hook: fixture.hook })
  await again.clock.advance(second)
  await again.hook.until(2)
  await again.settled(({ waiting }) => waiting === 0)
})

t.test('a slow endpoint does not delay another', async t => {
  provideSecret(t)
  const slow = await openReceiver(t)
  const quick = await openReceiver(t)
  slow.answer(() => {})
  const section = sectionOf(slow, {}, { name: 'quick', url: quick.url })
  const fixture = await testServer(t, { plugins: [...plugins, plugin], sections: { webhooks: section } })
  await putEvent(fixture, 'one')
  await putEvent(fixture, 'two')

  await fixture.clock.advance(second)

  await slow.until(1)
  await quick.until(2)
  t.equal(slow.received.length, 1)
})

const rowOf = (i: number, dead: boolean) => ({
  id: `01${String(i).padStart(24, '0')}`,
  endpoint: 'ops',
  event: 'rule.failed',
  body: '{"data":{}}',
  attempts: dead ? maxAttempts : maxAttempts - 1,
  nextAt: 0,
  createdAt: 0,
  deadAt: dead ? 1 : null
})

const fill = ({ server }: WebhooksFixture, count: number, dead: boolean) =>
  server.depsOf('webhooks').store.change(async em => {
    for (let from = 0; from < count; from += 500)
      await em.insertMany(
        Delivery,
        Array.from({ length: 500 }, (_, i) => rowOf(from + i + (dead ? 0 : maxDead), dead))
      )
  })

t.test('the start limits the dead letters of a removed endpoint with a long queue', async t => {
  const first = await webhooksFixture(t)
  await fill(first, maxDead + 500, false)
  await first.stop()

  const endpoint = { name: 'others' }
  const second = await webhooksFixture(t, {
    dir: first.dir,
    clock: first.clock,
    hook: first.hook,
    endpoint
  })

  const { store } = second.server.depsOf('webhooks')
  const kept = await store.read(em => em.find(Delivery, {}, { orderBy: { id: 'asc' } }))
  t.equal(kept.length, maxDead)
  t.equal(kept[0]?.id, rowOf(maxDead + 500, true).id, 'the oldest are deleted')
})

t.test('the queue and the dead letters have limits', async t => {
  const fixture = await webhooksFixture(t)
  await fill(fixture, maxDead, true)
  await fill(fixture, maxWaiting, false)
  fixture.hook.answer(500)

  await putEvent(fixture, 'too many')
  await putEvent(fixture, 'too many')

  t.match(await fixture.settled(() => true), { waiting: maxWaiting, dead: maxDead })
  t.equal(fixture.log.filter(({ event }) => event === 'webhook.dropped').length, 2)
  const { metrics } = fixture.server.depsOf('webhooks')
  const samples = (await Promise.all(metrics().map(({ value }) => value()))).flat()
  t.match(
    samples.find(({ name }) => name === 'webhooks_dropped_total'),
    { samples: [{ labelValues: ['ops'], value: 2 }] }
  )
  await fixture.clock.advance(second)
  await fixture.hook.until(2)
  await fixture.settled(({ waiting, dead }) => waiting < maxWaiting && dead === maxDead)
})
