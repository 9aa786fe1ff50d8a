// Steps of the wall clocks of server and agent in every phase of a quota: spent bytes never come back.
import t from 'tap'
import { type AgreementFixture, agreementFixture } from './agreement-fixture.ts'

t.setTimeout(180_000)

const dayMs = 86_400_000
const steps = [-10_000, -40 * dayMs, 40 * dayMs, 800 * dayMs]
const later = [20_000, 40 * dayMs, -40 * dayMs]

const size = 10_000
const endsInAMinute = { monthly_bytes: size, billing_anchor: Date.UTC(2025, 11, 15, 12, 1) / 1000 }

/** Delivers as much as the agent lets pass. */
const deliverAll = ({ deliver }: AgreementFixture): number => deliver(8001, 1_000_000)

const minutesOf = ({ store }: AgreementFixture) =>
  store.read(async em => {
    const sql = `select distinct key from stats_row where kind = 'minute'`
    return (await em.execute<{ key: string }[]>(sql)).map(({ key }) => Number(key))
  })

t.test('correcting a wrong agent clock after the connect grants no second quota', async t => {
  for (const agentAheadMs of steps) {
    const on = await agreementFixture(t, { agentAheadMs })
    await on.send('PUT', { monthly_bytes: size })
    t.equal(deliverAll(on), size)
    await on.advance(6_000)

    on.agent().clock.step(-agentAheadMs)
    await on.advance(6_000)

    t.equal(deliverAll(on), 0)
    t.equal((await on.row()).used, size)
    const now = on.serverClock.now() / 1000
    for (const minute of await minutesOf(on))
      t.ok(minute <= now && minute > now - 180, 'samples lie in the minutes of the server')
  }
})

t.test("a step of the agent's clock neither opens an exhausted quota nor delays its next period", async t => {
  for (const ms of steps)
    await t.test(`by ${ms} ms`, async t => {
      const on = await agreementFixture(t)
      await on.send('PUT', endsInAMinute)
      t.equal(deliverAll(on), size)

      on.agent().clock.step(ms)
      await on.advance(10_000)
      t.equal(deliverAll(on), 0, 'still exhausted')
      await on.advance(52_000)

      t.equal(deliverAll(on), size, 'the next period has begun')
      on.agent().clock.step(-ms)
      await on.advance(10_000)
      t.equal(deliverAll(on), 0, 'once')
    })
})

t.test(
  "a step of the server's clock opens at most one period, and a step back gives nothing back",
  async t => {
    for (const ms of later) {
      const on = await agreementFixture(t)
      await on.send('PUT', { monthly_bytes: size })
      t.equal(deliverAll(on), size)
      await on.advance(6_000)
      const opened = ms > 30 * dayMs ? size : 0

      on.serverClock.step(ms)
      on.agent().clock.step(ms)
      on.cutStream()
      await on.untilReady()
      await on.advance(6_000)
      t.equal(deliverAll(on), opened)
      await on.advance(6_000)
      t.equal(deliverAll(on), 0, 'once')
      const { periodStart } = await on.row()

      on.serverClock.step(-ms)
      on.cutStream()
      await on.untilReady()
      await on.send('PATCH', { monthly_bytes: size })
      await on.advance(6_000)
      t.equal(deliverAll(on), 0, 'after the clock is corrected')
      const row = await on.row()
      t.ok(row.periodStart >= periodStart, 'the period does not go back')
      t.equal(row.used - row.credit, size, 'every byte of the period counts')
      await on.send('PATCH', { monthly_bytes: size + 500 })
      t.equal(deliverAll(on), 500)
      await on.advance(6_000)
      t.equal((await on.row()).used, size + 500)
    }
  }
)

t.test('an agent that restarts with another clock keeps its usage', async t => {
  for (const ms of [40 * dayMs, -40 * dayMs])
    await t.test(`by ${ms} ms`, async t => {
      const on = await agreementFixture(t)
      await on.send('PUT', { monthly_bytes: size })
      t.equal(on.deliver(8001, 6000), 6000)

      on.agent().clock.step(ms)
      await on.restartAgent()

      t.equal(deliverAll(on), 4000)
      await on.advance(6_000)
      t.equal(deliverAll(on), 0)
      t.equal((await on.row()).used, size)
    })
})
