// Server and agent count with separate clocks, and must always agree on the remaining bytes.
import t, { type Test } from 'tap'
import { type AgreementFixture, agreementFixture, ports } from './agreement-fixture.ts'
import { openRandom } from './random.ts'

async function assertAgreement(
  { untilIdle, row, remaining }: AgreementFixture,
  t: Test,
  label: string
): Promise<void> {
  await untilIdle()
  const { monthlyBytes, used, credit } = await row()
  t.equal(remaining(), Math.max(0, monthlyBytes - used + credit), label)
}

t.test('across changes, traffic, lost streams and restarts no byte is lost or granted twice', async t => {
  const random = openRandom(11)
  const on = await agreementFixture(t)
  on.deliver(8001, 12_345) // before the quota
  await on.send('PUT', { monthly_bytes: 10_000 })
  let delivered = 0

  const steps: (() => unknown)[] = [
    () => on.send('PATCH', { monthly_bytes: random(50_000) }),
    () => on.send('PUT', { monthly_bytes: random(90_000) }),
    () => on.send('PATCH', { clear_period_usage: true }),
    () => on.advance(random(7000)),
    () => on.advance(random(400)),
    () => on.cutStream(),
    () => (random(4) === 0 ? on.restartAgent() : on.untilReady())
  ]
  for (let run = 0; run < 120; run++) {
    const racing = steps[random(steps.length)]?.()
    for (let i = random(4); i > 0; i--) {
      delivered += on.deliver(ports[random(2)] ?? 0, random(9000))
      await new Promise(resolve => setImmediate(resolve))
    }
    await racing
    if (run % 10 !== 9) continue
    await assertAgreement(on, t, `after ${run + 1} steps`)
    t.equal((await on.row()).used, delivered, 'all delivered bytes are committed')
  }
})

t.test('server and agent end a month at the same byte', async t => {
  const on = await agreementFixture(t)
  await on.send('PUT', { monthly_bytes: 10_000, billing_anchor: Date.UTC(2025, 11, 15, 12, 2) / 1000 })
  on.deliver(8001, 6000)
  await on.advance(20_000)
  await assertAgreement(on, t, 'before')

  for (let i = 0; i < 200; i++) {
    on.deliver(8002, 20)
    await on.advance(1000)
  }

  await assertAgreement(on, t, 'after')
  t.ok((await on.row()).used < 6000, 'only bytes of the new month count')
  on.deliver(8001, 1_000_000)
  await assertAgreement(on, t, 'at its end')
  t.equal((await on.row()).used, 10_000)
})

t.test('an agent with restored state grants nothing twice', async t => {
  const on = await agreementFixture(t)
  await on.send('PUT', { monthly_bytes: 10_000 })
  on.deliver(8001, 1000)
  await on.advance(2300)
  on.copyState()
  on.deliver(8001, 5000)
  await on.advance(20_000)
  t.equal(on.remaining(), 4000)

  await on.restartAgent('copied')

  await assertAgreement(on, t, 'after')
  t.equal(on.remaining(), 4000)
})
