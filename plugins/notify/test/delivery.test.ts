// The queue of messages: tries, bounds, users, and several servers.
import t, { type Test } from 'tap'
import { User } from '../../../kernel/identity/entities.ts'
import { maxWaiting, nextTry } from '../deliveries.ts'
import { NotifyDelivery } from '../entities.ts'
import { type NotifyFixture, notifyFixture, openReceiver, type Receiver, secretFile } from './fixture.ts'

const second = 1_000
const minute = 60 * second
const hour = 60 * minute

const gotify = (t: Test, { url }: Receiver) => ({ type: 'gotify', url, secret_file: secretFile(t, 'token') })

/** Resolves when the only delivery is to be tried at this time. */
async function recorded({ deps }: NotifyFixture, nextAt: number): Promise<number> {
  for (let tries = 0; tries < 5_000; tries++) {
    const row = await deps.store.read(em => em.findOneOrFail(NotifyDelivery, { channel: 'ops' }))
    if (row.nextAt === nextAt) return nextAt
    await new Promise(resolve => setImmediate(resolve))
  }
  throw new Error(`no try is planned for ${nextAt}`)
}

const countOf = async ({ server }: NotifyFixture, channel: string, result: string) => {
  const metrics = await Promise.all(
    server
      .depsOf('notify')
      .metrics()
      .map(({ value }) => value())
  )
  const found = metrics.flat().find(({ name }) => name === 'svc_notifications_total')
  const isIt = ({ labelValues: [name, which] }: { labelValues: readonly string[] }) =>
    name === channel && which === result
  return [...(found?.samples ?? [])].find(isIt)?.value
}

t.test(
  'the pauses between tries are 10 s, 1, 5 and 15 min, and the last try is an hour after the first',
  async t => {
    t.same(
      [1, 2, 3, 4, 5].map(attempts => nextTry(attempts, 0, 1_300 * second)),
      [1_310, 1_360, 1_600, 2_200, 3_600].map(at => at * second)
    )
  }
)

t.test('a failed delivery is tried 6 times within an hour, and is then given up and logged', async t => {
  const hook = await openReceiver(t)
  hook.answer(503)
  const app = await notifyFixture(t, { section: { channels: { ops: gotify(t, hook) } } })
  await app.raise({ object: 'a' })
  await app.clock.advance(30 * second)
  for (const [at, pauseMs] of [10, 60, 300, 900, 2_330].map(pause => pause * second).entries()) {
    await hook.until(at + 1)
    const nextAt = await recorded(app, app.clock.now() + pauseMs)
    await app.clock.advance(nextAt - app.clock.now() - second)
    t.equal(hook.received.length, at + 1, 'no early try')
    await app.clock.advance(second)
  }
  await hook.until(6)
  await app.settled(({ waiting }) => waiting === 0)

  t.match(await app.notifications(), [
    { deliveries: [{ channel: 'ops', state: 'failed', attempts: 6, error: 'response status 503' }] }
  ])
  t.match(
    app.log.filter(({ event }) => event === 'notify.failed'),
    [{ fields: { channel: 'ops', kind: 'expires_soon', error: 'response status 503' } }]
  )
  t.equal(await countOf(app, 'ops', 'failed'), 1)
})

t.test('a failed delivery succeeds later, and later messages do not wait for it', async t => {
  const hook = await openReceiver(t)
  hook.answer(500)
  const app = await notifyFixture(t, { section: { channels: { ops: gotify(t, hook) } } })
  await app.raise({ object: 'a' })
  await app.clock.advance(31 * second)
  await hook.until(1)
  await app.settled(({ last_error: error }) => error === 'response status 500')
  hook.answer(200)
  await app.clock.advance(12 * second)
  await hook.until(2)

  t.match(await app.settled(({ waiting }) => waiting === 0), { last_error: null, last_success_at: /^2026/ })
  t.equal(await countOf(app, 'ops', 'delivered'), 1)
})

t.test('an attempt ends after 10 s, and a redirect is not followed', async t => {
  const hook = await openReceiver(t)
  hook.answer(() => {})
  const app = await notifyFixture(t, { section: { channels: { ops: gotify(t, hook) } } })
  const tried = app.call('POST', '/v1/notifications/channels/ops/test')
  await hook.until(1)
  await app.clock.advance(10 * second)
  t.match((await tried).body, { delivered: false, status: null, error: 'no answer within 10 s' })

  hook.answer(302)
  t.match((await app.call('POST', '/v1/notifications/channels/ops/test')).body, {
    delivered: false,
    status: 302,
    error: 'response status 302; redirects are not followed'
  })
  t.equal(hook.received.length, 2)
})

t.test('a delivery that a dying server has begun is tried again, and by one server only', async t => {
  const hook = await openReceiver(t)
  hook.answer(() => {})
  const section = { channels: { ops: gotify(t, hook) } }
  const app = await notifyFixture(t, { section })
  await app.raise({ object: 'a' })
  await app.clock.advance(31 * second)
  await hook.until(1)
  const { store, deliveries } = app.deps
  t.equal(await store.change(em => deliveries.claim('ops', em)), null, 'the other server has it')
  await app.stop()
  hook.answer(200)

  const again = await notifyFixture(t, { section, dir: app.dir, clock: app.clock })
  await again.clock.advance(2 * second)
  await hook.until(2)

  await again.settled(({ waiting }) => waiting === 0)
  await again.clock.advance(hour)
  t.equal(hook.received.length, 2, 'a restart repeats nothing')
})

t.test('a channel with a user sends only what this user may see, and users see only their own', async t => {
  const hook = await openReceiver(t)
  const section = { channels: { ann: { ...gotify(t, hook), user: 'ann' } } }
  const app = await notifyFixture(t, { section })
  const ann = await app.user('ann')
  await app.raise({ object: 'a', name: 'of ann', owner: 'ann' })
  await app.raise({ object: 'b', name: 'of eve', owner: 'eve' })
  await app.raise({ object: 'c', name: 'of nobody' })
  await app.raise({ object: 'd', name: 'of eve', owner: 'eve', kind: 'backup_old' })

  const [row, ...more] = await app.notifications(ann)
  t.match(row, { count: 1, names: ['of ann'], text: '1 object expires soon: of ann' })
  t.same(more, [])
  t.notOk(row && 'deliveries' in row)
  t.match((await app.call('GET', '/v1/notifications/channels', undefined, ann)).status, 403)
  t.match((await app.call('POST', '/v1/notifications/channels/ann/test', undefined, ann)).status, 403)
  t.match(await app.notifications(), [{ count: 1 }, { count: 3 }])

  await app.clock.advance(32 * second)
  t.match(JSON.parse((await hook.until(1)).text), { message: '1 object expires soon: of ann' })
  await app.settled(({ waiting }) => waiting === 0)
  t.match(
    (await app.notifications()).map(({ deliveries }) => deliveries?.length),
    [0, 1]
  )
  await app.change(em => em.nativeUpdate(User, { id: 'ann' }, { role: 'viewer' }))
  t.match(await app.notifications(ann), [{ count: 1 }, { count: 3, deliveries: [{ channel: 'ann' }] }])
})

t.test('a user with messages in a quarter of a channel displaces none of others', async t => {
  const hook = await openReceiver(t)
  hook.answer(500)
  const app = await notifyFixture(t, { section: { channels: { ops: gotify(t, hook) } } })
  const fill = (count: number, owner: string | null, from: number) =>
    app.change(em =>
      em.insertMany(
        NotifyDelivery,
        Array.from({ length: count }, (_, i) => ({
          message: `01${String(from + i).padStart(24, '0')}`,
          channel: 'ops',
          state: 'waiting' as const,
          owner,
          attempts: 1,
          firstAt: 0,
          nextAt: app.clock.now() + hour,
          error: null
        }))
      )
    )
  await fill(maxWaiting / 4, 'eve', 0)
  await app.raise({ object: 'a', owner: 'eve' })
  await app.raise({ object: 'b', owner: 'ann', kind: 'rule_failed' })
  await app.clock.advance(32 * second)
  t.match(await app.notifications(), [
    { kind: 'rule_failed', deliveries: [{ state: 'waiting' }] },
    {
      kind: 'expires_soon',
      deliveries: [{ state: 'failed', error: /^dropped: 250 messages about one owner/ }]
    }
  ])
  t.equal(await countOf(app, 'ops', 'dropped'), 1)

  for (let from = 1; from < 4; from++) await fill(maxWaiting / 4, null, from * 1_000)
  await app.raise({ object: 'c', kind: 'edge_away' })
  await app.clock.advance(32 * second)
  t.match((await app.notifications())[0], { deliveries: [{ error: /^dropped: 1000 messages wait/ }] })
  t.equal(await countOf(app, 'ops', 'dropped'), 2)
})

t.test('a channel gets only its kinds', async t => {
  const hook = await openReceiver(t)
  const section = { channels: { ops: { ...gotify(t, hook), kinds: ['rule_failed'] } } }
  const app = await notifyFixture(t, { section })
  await app.raise({ object: 'a' })
  await app.raise({ object: 'b', kind: 'rule_failed' })
  await app.clock.advance(32 * second)
  t.match(JSON.parse((await hook.until(1)).text), { title: 'sluice: 1 rule has failed' })
  await app.settled(({ waiting }) => waiting === 0)
  t.equal(hook.received.length, 1)
})

t.test('messages for a removed channel are given up', async t => {
  const hook = await openReceiver(t)
  hook.answer(500)
  const app = await notifyFixture(t, { section: { channels: { ops: gotify(t, hook) } } })
  await app.raise({ object: 'a' })
  await app.clock.advance(32 * second)
  await app.settled(({ last_error: error }) => error !== null)
  await app.stop()
  const again = await notifyFixture(t, { dir: app.dir, clock: app.clock })
  t.match(await again.notifications(), [
    { deliveries: [{ state: 'failed', error: 'the channel was removed from the configuration' }] }
  ])
  t.match(await again.call('POST', '/v1/notifications/channels/ops/test'), {
    status: 404,
    body: { error: { code: 'channel_not_found' } }
  })
})

t.test('a later user of the name of a deleted one sees none of its notifications', async t => {
  const app = await notifyFixture(t)
  const ann = await app.user('ann')
  await app.raise({ object: 'a', owner: 'ann' })
  t.equal((await app.notifications(ann)).length, 1)
  t.equal((await app.call('DELETE', '/v1/users/ann')).status, 200)
  t.same(await app.notifications(), [])
})

t.test('notifications of a deleted user take no places of a page', async t => {
  const app = await notifyFixture(t)
  await app.user('ann')
  await app.raise({ object: 'b', owner: null })
  for (const object of ['a', 'c']) {
    await app.clock.advance(120_000)
    await app.raise({ object, owner: 'ann' })
  }
  await app.call('DELETE', '/v1/users/ann')

  t.match((await app.call('GET', '/v1/notifications?limit=1')).body, [{ names: ['b'] }])
})
