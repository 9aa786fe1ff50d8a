import t, { type Test } from 'tap'
import { kernelStore } from '../../../kernel/store/kernel-store.ts'
import { timeOf } from '../../../kernel/store/postgres/dialect.ts'
import { fakeClock } from '../../../kit/fake-clock.ts'
import { isOnPostgres } from '../../../kit/test-store.ts'
import { openStoreIn } from '../../../test/support/store.ts'
import { Failures } from '../entities.ts'
import auth from '../plugin.ts'
import { openKnownAddresses } from '../throttle/known-addresses.ts'
import { openResetLimit } from '../throttle/reset-limit.ts'
import { openRunningTime } from '../throttle/running-time.ts'
import { type AddressLock, type Attempt, openThrottle, type Throttle } from '../throttle/throttle.ts'

const minuteMs = 60_000
const ann: Attempt = { action: 'login', subject: 'ann', remoteAddr: '192.0.2.1' }

async function throttleFixture(t: Test, { maxRows = 100_000, dir = t.testdir(), clock = fakeClock() } = {}) {
  const store = await openStoreIn(t, dir, [kernelStore, auth])
  t.teardown(() => store.close())
  const runningTime = openRunningTime({ store, clock })
  const knownAddresses = openKnownAddresses({ clock })
  return {
    store,
    clock,
    dir,
    runningTime,
    throttle: openThrottle({ store, runningTime, knownAddresses }, maxRows),
    knownAddresses
  }
}

async function failTimes(throttle: Throttle, times: number, attempt: (i: number) => Attempt): Promise<void> {
  for (let i = 0; i < times; i++) await throttle.recordFailure(attempt(i))
}

/** Returns the seconds that a caller must wait; 0 if it may try. */
async function waitOf(attempted: Promise<unknown>): Promise<number> {
  try {
    const lock = (await attempted) as AddressLock | null | undefined
    if (lock && !lock.isKnown) throw lock.refusal
    return 0
  } catch (error) {
    return (error as { details: { retry_after_secs: number } }).details.retry_after_secs
  }
}

t.test('five failures lock out for a minute, the next five for two, up to 15 minutes', async t => {
  const { throttle, clock } = await throttleFixture(t)

  for (const secs of [60, 120, 240, 480, 900, 900]) {
    await failTimes(throttle, 4, () => ann)
    t.equal(await waitOf(throttle.check(ann)), 0)
    await throttle.recordFailure(ann)
    t.equal(await waitOf(throttle.check(ann)), secs)
    await clock.advance(secs * 1000 - 1)
    t.equal(await waitOf(throttle.check(ann)), 1)
    await clock.advance(1)
    t.equal(await waitOf(throttle.check(ann)), 0)
  }
})

t.test('a lockout applies to one subject at one address in one action', async t => {
  const { throttle } = await throttleFixture(t)

  await failTimes(throttle, 5, () => ann)

  t.equal(await waitOf(throttle.check(ann)), 60)
  t.equal(await waitOf(throttle.check({ ...ann, subject: 'bob' })), 0)
  t.equal(await waitOf(throttle.check({ ...ann, remoteAddr: '192.0.2.2' })), 0)
  t.equal(await waitOf(throttle.check({ ...ann, action: 'password' })), 0)
})

t.test('a lockout of one action in a known browser leaves the other actions', async t => {
  const { throttle, store, knownAddresses } = await throttleFixture(t)
  const browser = { ...ann, keyHash: 'a'.repeat(64) }
  await store.change(em => knownAddresses.record(em, 'ann', browser))

  await failTimes(throttle, 5, () => browser)

  t.equal(await waitOf(throttle.check(browser)), 60)
  t.equal(await waitOf(throttle.check({ ...browser, action: 'step' })), 0)
})

t.test('a lockout of one action at a known address leaves the other actions', async t => {
  const { throttle, store, knownAddresses } = await throttleFixture(t)
  await store.change(em => knownAddresses.record(em, 'ann', { ...ann, keyHash: null }))
  await failTimes(throttle, 50, i => ({ ...ann, subject: `user-${i}` }))
  const isKnown = async (attempt: Attempt) => (await throttle.check(attempt))?.isKnown
  t.equal(await isKnown(ann), true)

  for (let i = 0; i < 5; i++) await throttle.recordFailure(ann, await throttle.check(ann))

  t.equal(await isKnown(ann), false)
  t.equal(await isKnown({ ...ann, action: 'step' }), true)
})

t.test('the right secret clears earlier failures', async t => {
  const { throttle } = await throttleFixture(t)
  await failTimes(throttle, 4, () => ann)

  await throttle.clear(ann)
  await failTimes(throttle, 4, () => ann)

  t.equal(await waitOf(throttle.check(ann)), 0)
})

t.test('a lockout survives a restart', async t => {
  const { throttle, store, dir, clock } = await throttleFixture(t)
  await failTimes(throttle, 5, () => ann)
  await store.close()

  const { throttle: next } = await throttleFixture(t, { dir, clock })

  t.equal(await waitOf(next.check(ann)), 60)
})

t.test('fifty failures in 15 minutes lock out an address, whatever the subjects', async t => {
  const { throttle, clock } = await throttleFixture(t)
  const attemptOf = (i: number) => ({ ...ann, subject: `user-${i}` })

  await failTimes(throttle, 1, attemptOf)
  await clock.advance(14 * minuteMs)
  await failTimes(throttle, 30, attemptOf)
  await clock.advance(2 * minuteMs) // the first one no longer counts, the thirty do
  await failTimes(throttle, 19, attemptOf)
  t.equal(await waitOf(throttle.check(attemptOf(99))), 0)
  await throttle.recordFailure(attemptOf(98))

  t.equal(await waitOf(throttle.check(attemptOf(99))), 900)
  t.equal(await waitOf(throttle.check({ ...attemptOf(99), remoteAddr: '192.0.2.2' })), 0)
})

t.test('an IPv6 caller counts by its /64, an IPv4-mapped one by its IPv4 address', async t => {
  const { throttle } = await throttleFixture(t)

  await failTimes(throttle, 50, i => ({ ...ann, subject: `a-${i}`, remoteAddr: `2001:db8:0:1::${i + 1}` }))
  await failTimes(throttle, 50, i => ({ ...ann, subject: `b-${i}`, remoteAddr: '::ffff:192.0.2.9' }))

  t.equal(await waitOf(throttle.check({ ...ann, remoteAddr: '2001:db8:0:1:ffff::1' })), 900)
  t.equal(await waitOf(throttle.check({ ...ann, remoteAddr: '2001:db8:0:2::1' })), 0)
  t.equal(await waitOf(throttle.check({ ...ann, remoteAddr: '192.0.2.9' })), 900)
})

t.test('a subject with a hundred failures is slowed to one attempt a second, never locked', async t => {
  const { throttle, clock } = await throttleFixture(t)
  const from = (i: number) => ({ ...ann, remoteAddr: `198.51.100.${i % 250}` })
  await failTimes(throttle, 99, from)
  t.equal(await waitOf(throttle.admit(from(200))), 0)
  t.equal(await waitOf(throttle.admit(from(201))), 0)
  await throttle.recordFailure(from(99))

  t.equal(await waitOf(throttle.admit(from(200))), 0)
  t.equal(await waitOf(throttle.admit(from(201))), 1)
  await clock.advance(1000)
  t.equal(await waitOf(throttle.admit(from(201))), 0)
  await clock.advance(15 * minuteMs)
  t.equal(await waitOf(throttle.admit(from(200))), 0)
  t.equal(await waitOf(throttle.admit(from(201))), 0)
})

t.test('the table has a maximum size; the oldest rows are deleted', async t => {
  const { throttle, store, clock } = await throttleFixture(t, { maxRows: 12 })

  for (let i = 0; i < 10; i++) {
    await throttle.recordFailure({ ...ann, subject: `user-${i}`, remoteAddr: `198.51.100.${i}` })
    await clock.advance(1)
  }

  const rows = await store.read(em => em.find(Failures, {}, { orderBy: { updatedAt: 'asc' } }))
  t.equal(rows.length, 12)
  t.equal(rows[0]?.updatedAt, (rows.at(-1)?.updatedAt ?? 0) - 3)
})

t.test('failures older than a day do not count and are deleted', async t => {
  const { throttle, store, clock } = await throttleFixture(t)
  await failTimes(throttle, 5, () => ann)
  await clock.advance(24 * 60 * minuteMs)

  await failTimes(throttle, 5, () => ({ ...ann, subject: 'bob' }))
  await failTimes(throttle, 5, () => ann)
  t.equal(await waitOf(throttle.check(ann)), 60, 'the first lock again, not the second')
  await clock.advance(24 * 60 * minuteMs)
  await store.change(throttle.sweep)

  t.equal(await store.read(em => em.count(Failures)), 0)
})

const steps = [1000, 26 * 3_600_000, -400 * 24 * 3_600_000]

t.test('a clock step neither lengthens nor ends a lockout', async t => {
  for (const ms of steps) {
    const { throttle, clock } = await throttleFixture(t, { dir: t.testdir() })
    await failTimes(throttle, 5, () => ann)
    await clock.advance(20_000)

    clock.step(ms)

    t.equal(await waitOf(throttle.check(ann)), 40, `by ${ms} ms`)
    await clock.advance(39_999)
    t.equal(await waitOf(throttle.check(ann)), 1)
    await clock.advance(1)
    t.equal(await waitOf(throttle.check(ann)), 0)
  }
})

t.test('a clock step during a stop does not change the time left of a lockout', async t => {
  for (const ms of steps) {
    const { throttle, runningTime, store, dir, clock } = await throttleFixture(t, { dir: t.testdir() })
    await failTimes(throttle, 50, i => ({ ...ann, subject: `user-${i}` }))
    await clock.advance(5 * minuteMs)
    await runningTime.save()
    await store.close()

    const next = await throttleFixture(t, { dir, clock: fakeClock(clock.now() + ms) })

    t.equal(await waitOf(next.throttle.check(ann)), 600, `by ${ms} ms`)
  }
})

const alone = !isOnPostgres && 'SQLite has one server'

t.test(
  'a lock lasts as long at each server of the store, also at one that has run for hours',
  { skip: alone },
  async t => {
    const { throttle, runningTime, store, clock } = await throttleFixture(t)
    await runningTime.save()
    const otherTime = openRunningTime({ store, clock: fakeClock() })
    await otherTime.save()
    await clock.advance(10 * 3_600_000)
    await runningTime.save()
    await clock.advance(50_000)
    await store.change(async em => {
      const ago = (await timeOf(em)) - 50_000 // as if the database clock had advanced
      await em.nativeUpdate(Failures, { id: 'running-time' }, { times: [ago] })
    })

    await otherTime.save()

    const there = openThrottle({
      store,
      runningTime: otherTime,
      knownAddresses: openKnownAddresses({ clock })
    })
    await failTimes(there, 5, () => ann)
    const waits = [await waitOf(throttle.check(ann)), await waitOf(there.check(ann))]
    t.ok(
      waits.every(secs => secs === 60 || secs === 61), // the database clock runs on
      String(waits)
    )
  }
)

t.test('setting the database clock does not move the running time', { skip: alone }, async t => {
  const { runningTime, store } = await throttleFixture(t)
  const timeNow = () => store.read(runningTime.now)
  await runningTime.save()
  const before = await timeNow()
  for (const ms of [3_600_000, -3_600_000]) {
    await store.change(async em => {
      await em.nativeUpdate(Failures, { id: 'running-time' }, { times: [(await timeOf(em)) + ms] })
    })
    await runningTime.save()
    t.equal(await timeNow(), before)
  }
})

t.test('a lockout stored under a clock a day ahead lasts at most 15 minutes', async t => {
  const { throttle, store, dir, clock } = await throttleFixture(t)
  await failTimes(throttle, 5, () => ann)
  const dayAhead = clock.now() + 24 * 60 * minuteMs
  await store.change(em => em.nativeUpdate(Failures, {}, { lockedUntil: dayAhead + 58_000 }))
  await store.close()

  const next = await throttleFixture(t, { dir, clock })

  t.equal(await waitOf(next.throttle.check(ann)), 900)
  await clock.advance(15 * minuteMs)
  t.equal(await waitOf(next.throttle.check(ann)), 0)
})

t.test('a clock step neither drops nor prolongs the failures of a window', async t => {
  const attemptOf = (i: number) => ({ ...ann, subject: `user-${i}` })
  for (const ms of steps) {
    const { throttle, clock } = await throttleFixture(t, { dir: t.testdir() })
    await failTimes(throttle, 49, attemptOf)

    clock.step(ms)
    await clock.advance(14 * minuteMs)
    await throttle.recordFailure(attemptOf(49))

    t.equal(await waitOf(throttle.check(attemptOf(99))), 900, `by ${ms} ms`)
  }
})

t.test('a clock step neither drops nor prolongs the resets of an hour', async t => {
  for (const ms of steps) {
    const { store, runningTime, clock } = await throttleFixture(t, { dir: t.testdir() })
    const limit = openResetLimit({ runningTime })
    const reset = () => store.change(em => limit.record(em, 'ann'))
    for (let i = 0; i < 10; i++) await reset()

    clock.step(ms)

    t.equal(await waitOf(reset()), 3600, `by ${ms} ms`)
    await clock.advance(60 * minuteMs)
    t.equal(await waitOf(reset()), 0)
  }
})
