// Delivery of events: retries, order and dead letters.
import t from 'tap'
import { testServer } from '../../../../kit/test-server.ts'
import { plugin, plugins, putEvent, sectionOf, type WebhooksFixture, webhooksFixture } from './fixture.ts'
import { receiver } from './receiver.ts'

const { Delivery } = await import('../entities.ts') // after the fixture made sluice/plugin available
const { maxAttempts, maxDead, maxWaiting, retryAfterMs } = await import('../outbox.ts')

const second = 1_000

const idsOf = ({ hook }: WebhooksFixture): string[] =>
  hook.got.map(({ json }) => String(json.data['rule_id']))

t.test('the delay doubles from 10 s to one hour', async t => {
  t.same([1, 2, 3, 9, 10, 11].map(retryAfterMs), [10_000, 20_000, 40_000, 2_560_000, 3_600_000, 3_600_000])
})

t.test('a failed delivery is retried with the same id and body, and later events wait', async t => {
  const on = await webhooksFixture(t)
  on.hook.answer(503)
  await putEvent(on, 'one')
  await putEvent(on, 'two')
  await on.clock.advance(second)
  await on.hook.until(1)
  t.match(await on.settled(({ error }) => error !== null), {
    waiting: 2,
    error: 'response status 503',
    next_at: '2026-01-15T12:00:11.000Z'
  })
  await on.clock.advance(9 * second)
  t.equal(on.hook.got.length, 1, 'not before its time')
  on.hook.answer(204)

  await on.clock.advance(second)
  await on.hook.until(3)

  t.same(idsOf(on), ['one', 'one', 'two'])
  const [first, again] = on.hook.got
  t.equal(again?.text, first?.text)
  t.equal(again?.headers['webhook-id'], first?.headers['webhook-id'])
  t.not(again?.headers['webhook-timestamp'], first?.headers['webhook-timestamp'], 'signed anew')
  t.match(await on.settled(({ waiting }) => waiting === 0), { dead: 0, error: null, next_at: null })
})

t.test(
  'after 12 attempts an event is a dead letter, the next one is delivered, and a retry starts over',
  async t => {
    const on = await webhooksFixture(t)
    on.hook.answer(500)
    await putEvent(on, 'one')
    await on.server
      .depsOf('webhooks')
      .store.change(em => em.nativeUpdate(Delivery, {}, { attempts: maxAttempts - 1 }))
    await on.clock.advance(second)
    await on.settled(({ dead }) => dead === 1)
    const [letter] = await on.dead()
    t.match(letter, { endpoint: 'ops', event: 'rule.failed', attempts: 12, error: 'response status 500' })
    t.match(on.log.at(-1), {
      event: 'webhook.dead',
      fields: { endpoint: 'ops', delivery: letter?.delivery_id }
    })
    on.hook.answer(200)
    await putEvent(on, 'two')
    await on.clock.advance(second)
    await on.hook.until(2)
    await on.settled(({ waiting, dead }) => waiting === 0 && dead === 1)

    const retried = await on.call('POST', `/v1/webhooks/dead-letters/${letter?.delivery_id}/retry`)
    t.equal(retried.status, 200)
    t.match(on.decisions.at(-1), { action: 'webhook.retry', resourceId: letter?.delivery_id })
    await on.clock.advance(second)
    await on.hook.until(3)

    t.same(idsOf(on), ['one', 'two', 'one'])
    await on.settled(({ waiting, dead }) => waiting === 0 && dead === 0)
    t.match(await on.call('POST', `/v1/webhooks/dead-letters/${letter?.delivery_id}/retry`), {
      status: 404,
      body: { error: { code: 'dead_letter_not_found' } }
    })
  }
)

t.test(
  'waiting events survive a restart, and become dead letters when their endpoint is removed',
  async t => {
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
  }
)

t.test('an attempt that a stop interrupts does not count', async t => {
  const on = await webhooksFixture(t)
  on.hook.answer(() => {})
  await putEvent(on, 'one')
  await on.clock.advance(second)
  await on.hook.until(1)
  await on.stop()
  t.notMatch(on.log, [{ event: 'webhook.failed' }])

  on.hook.answer(200)
  const again = await webhooksFixture(t, { dir: on.dir, clock: on.clock, hook: on.hook })
  await again.clock.advance(second)
  await again.hook.until(2)
  await again.settled(({ waiting }) => waiting === 0)
})

t.test('a slow endpoint does not delay another', async t => {
  const [slow, quick] = [await receiver(t), await receiver(t)]
  slow.answer(() => {})
  const section = sectionOf(slow, {}, { name: 'quick', url: quick.url })
  const on = await testServer(t, { plugins: [...plugins, plugin], sections: { webhooks: section } })
  await putEvent(on, 'one')
  await putEvent(on, 'two')

  await on.clock.advance(second)

  await slow.until(1)
  await quick.until(2)
  t.equal(slow.got.length, 1)
})

t.test('the queue and the dead letters are bounded', async t => {
  const on = await webhooksFixture(t)
  const { store } = on.server.depsOf('webhooks')
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
  const fill = (count: number, dead: boolean) =>
    store.change(async em => {
      for (let from = 0; from < count; from += 500)
        await em.insertMany(
          Delivery,
          Array.from({ length: 500 }, (_, i) => rowOf(from + i + (dead ? 0 : maxDead), dead))
        )
    })
  await fill(maxDead, true)
  await fill(maxWaiting, false)
  on.hook.answer(500)

  await putEvent(on, 'too many')
  await putEvent(on, 'too many')

  t.match(await on.settled(() => true), { waiting: maxWaiting, dead: maxDead })
  t.equal(on.log.filter(({ event }) => event === 'webhook.dropped').length, 2)
  const { metrics } = on.server.depsOf('webhooks')
  const samples = (await Promise.all(metrics().map(({ value }) => value()))).flat()
  t.match(
    samples.find(({ name }) => name === 'webhooks_dropped_total'),
    { samples: [{ labelValues: ['ops'], value: 2 }] }
  )
  await on.clock.advance(second)
  await on.hook.until(2)
  await on.settled(({ waiting, dead }) => waiting < maxWaiting && dead === maxDead)
})
