// A wall clock that was set forward by mistake and is set back: nothing waits until its time comes again.
import t from 'tap'
import { nextTry } from '../deliveries.ts'
import { NotifyMessage } from '../entities.ts'
import { type NotifyFixture, notifyFixture, openReceiver, secretFile } from './fixture.ts'

const second = 1_000
const minute = 60 * second
const hour = 60 * minute
const day = 24 * hour

/** Runs `work` while the clock is 5 days ahead. */
async function ahead({ clock }: NotifyFixture, work: () => Promise<unknown>): Promise<void> {
  clock.step(5 * day)
  await work()
  clock.step(-5 * day)
}

t.test(
  'a message that was opened before the clock was set back is sent, and takes no more events',
  async t => {
    const hook = await openReceiver(t)
    const ops = { type: 'gotify', url: hook.url, secret_file: secretFile(t, 'token') }
    const app = await notifyFixture(t, { section: { channels: { ops } } })
    await ahead(app, () => app.raise({ object: 'a' }))
    await app.raise({ object: 'b' })
    t.match(await app.notifications(), [{ names: ['b'] }, { names: ['a'] }], 'two messages')

    await app.clock.advance(2 * second)

    t.match(JSON.parse((await hook.until(1)).text), { message: '1 object expires soon: a' })
    await app.settled(({ waiting }) => waiting === 0)
  }
)

t.test('a delivery that failed before the clock was set back is tried again', async t => {
  const hook = await openReceiver(t)
  hook.answer(500)
  const ops = { type: 'gotify', url: hook.url, secret_file: secretFile(t, 'token') }
  const app = await notifyFixture(t, { section: { channels: { ops } } })
  await ahead(app, async () => {
    await app.raise({ object: 'a' })
    await app.clock.advance(32 * second)
    await hook.until(1)
    await app.settled(({ last_error: error }) => error !== null)
  })
  hook.answer(200)

  await app.clock.advance(2 * second)

  await hook.until(2)
  await app.settled(({ waiting }) => waiting === 0)
})

t.test('the last try of a delivery does not wait for a first try that lies in the future', async t => {
  const now = 100 * day
  t.equal(nextTry(5, now + 5 * day, now), now + 2_330 * second)
})

t.test('a client that left before the clock was set back is reported', async t => {
  const app = await notifyFixture(t, { section: { grace_secs: 60 } })
  const agent = await app.connect(await app.enroll('paris'))
  await app.clock.advance(10 * second)
  await ahead(app, async () => {
    await agent.close()
    await app.clock.advance(20 * second)
  })
  t.same(await app.notifications(), [])

  await app.clock.advance(10 * second)

  t.match(await app.notifications(), [{ kind: 'edge_away', names: ['paris'] }])
})

t.test('a client that connected before the clock was set back is reported when it leaves', async t => {
  const app = await notifyFixture(t, { section: { grace_secs: 60 } })
  const id = await app.enroll('paris')
  let agent = await app.connect(id)
  await ahead(app, async () => {
    await agent.close()
    agent = await app.connect(id)
    await app.clock.advance(10 * second)
  })
  await agent.close()

  await app.clock.advance(90 * second)

  t.match(await app.notifications(), [{ kind: 'edge_away', names: ['paris'] }])
})

t.test('a state that was reported before the clock was set back is reported again after an hour', async t => {
  const app = await notifyFixture(t)
  const about = { subject: 'rule_failed', object: 'r', name: 'r', owner: null }
  const enter = (state: string, kind: string | null) =>
    app.change(em => app.deps.objects.observe({ ...about, state, kind }, em))
  await ahead(app, () => enter('failed', 'rule_failed'))
  await enter('', null)
  await enter('failed', 'rule_failed')

  await app.clock.advance(59 * minute)
  t.equal((await app.notifications()).length, 1)
  await app.clock.advance(2 * minute)
  t.equal((await app.notifications()).length, 2)
})

t.test('an event that was reported before the clock was set back does not hold back another one', async t => {
  const app = await notifyFixture(t)
  await ahead(app, () => app.raise({ object: 'a' }))
  await app.clock.advance(2 * second)
  await app.raise({ object: 'a' })
  t.equal((await app.notifications()).length, 2)
  await app.raise({ object: 'a' })
  t.match(await app.notifications(), [{ count: 1 }, { count: 1 }], 'the hour counts from now on')
})

t.test('messages from before the clock was set back do not delay later ones as a storm does', async t => {
  const app = await notifyFixture(t)
  await ahead(app, async () => {
    for (let at = 0; at < 10; at++) {
      await app.raise({ object: `object-${at}` })
      await app.clock.advance(32 * second)
    }
  })
  await app.raise({ object: 'last' })
  const open = await app.change(em => em.find(NotifyMessage, { closesAt: { $ne: null } }))
  t.match(open, [{ at: app.clock.now(), closesAt: app.clock.now() + 30 * second }])
})
