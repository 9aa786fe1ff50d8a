import { randomInt } from 'node:crypto'
import { mock } from 'node:test'
import t, { type Test } from 'tap'
import type { Rate } from '../../agent/engine.ts'
import { TokenBucket } from '../../agent/portable-engine/meters/token-bucket.ts'
import type { Retry } from '../../agent/portable-engine/meters/waiter.ts'

interface Taken {
  readonly atMs: number
  readonly tokens: number
}

/** A bucket at a time that is moved by hand, and what has been taken from it. */
function open(t: Test, rate: Rate | null) {
  mock.timers.enable({ apis: ['setTimeout'] })
  t.teardown(() => mock.timers.reset())
  let nowMs = 0
  const bucket = new TokenBucket(() => nowMs)
  const taken: Taken[] = []
  bucket.setRate(rate)
  const take = (want: number, waiter: Retry): number => {
    const tokens = bucket.offer(want, waiter)
    bucket.take(tokens)
    if (tokens > 0) taken.push({ atMs: nowMs, tokens })
    return tokens
  }
  return {
    bucket,
    taken,
    take,
    pass(ms: number) {
      nowMs += ms
      mock.timers.tick(ms)
    },
    /** Somebody who always wants so much more; gives what it has got so far. */
    greedy(want: number): () => number {
      let got = 0
      const ask = () => {
        for (let tokens = -1; tokens !== 0; got += tokens) tokens = take(want, ask)
      }
      ask()
      return () => got
    }
  }
}

/** The worst window: how far what was taken in it is above perSec * t + burst. */
function excess(taken: readonly Taken[], { perSec, burst }: Rate): number {
  let level = 0 // of a bucket that fills by what is taken and leaks at the rate
  let atMs = 0
  let worst = 0
  for (const { atMs: laterMs, tokens } of taken) {
    level = Math.max(0, level - ((laterMs - atMs) * perSec) / 1000) + tokens
    atMs = laterMs
    worst = Math.max(worst, level - burst)
  }
  return worst
}

const rates: Rate[] = [
  { perSec: 1_000_000, burst: 100_000 },
  { perSec: 125_000_000, burst: 12_500_000 },
  { perSec: 20_000, burst: 16_384 },
  { perSec: 50_000, burst: 1_000 },
  { perSec: 100, burst: 1 },
  { perSec: 3, burst: 10 }
]

for (const rate of rates) {
  t.test(`no window passes more than ${rate.perSec} a second and ${rate.burst}`, async t => {
    const { taken, greedy, pass } = open(t, rate)
    for (const want of [1, 700, 65_536]) greedy(want)

    for (let i = 0; i < 2_000; i++) pass(randomInt(1, 8))

    t.ok(excess(taken, rate) <= 0.001, `${excess(taken, rate)} above`)
  })
}

t.test('once the burst is spent the rate is used up, also when timers fire late', async t => {
  const { taken, greedy, pass } = open(t, { perSec: 1_000_000, burst: 100_000 })
  for (let i = 0; i < 10; i++) greedy(65_536)
  const spent = () => taken.reduce((sum, { tokens }) => sum + tokens, 0)
  pass(1_000)
  const before = spent()

  for (let i = 0; i < 125; i++) pass(40)

  const share = (spent() - before) / 5_000_000
  t.ok(share > 0.95 && share <= 1.02, `${share} of the rate`)
})

t.test('who stands in line is served in turn, and nobody overtakes', async t => {
  const { greedy, pass, take } = open(t, { perSec: 1_000_000, burst: 50_000 })
  const all = Array.from({ length: 7 }, () => greedy(65_536))

  let overtaken = 0
  for (let i = 0; i < 700; i++) {
    pass(10)
    overtaken += take(1, late)
  }

  t.equal(overtaken, 0)
  const sum = all.reduce((sum, got) => sum + got(), 0)
  t.ok(
    all.every(got => got() > sum / 9),
    `${all.map(got => got())}`
  )
})
const late: Retry = () => {}

t.test('a change reaches who waits, and a bucket is never fuller than its burst', async t => {
  const { bucket, greedy, pass } = open(t, { perSec: 1_000, burst: 1_000 })
  const got = greedy(100)
  t.equal(got(), 1_000)

  bucket.setRate({ perSec: 1_000_000, burst: 10_000 })
  for (let i = 0; i < 20; i++) pass(5)
  t.ok(got() > 50_000)
  bucket.setRate({ perSec: 0, burst: 10 })
  const stopped = got()
  pass(60_000)
  t.ok(got() <= stopped + 10)
  t.ok(bucket.waitedMs() > 59_000)
  t.notOk(bucket.has(11))
})

t.test('without a rate everything passes, also for who waits when it is lifted', async t => {
  const { bucket, take } = open(t, { perSec: 1, burst: 1 })
  let called = 0
  const waiter = () => void called++
  t.equal(take(1, waiter), 1)
  t.equal(take(5, waiter), 0)

  bucket.setRate(null)

  t.equal(called, 1)
  t.equal(take(1_000_000, waiter), 1_000_000)
  t.ok(bucket.has(1e9))
})

t.test('who leaves the line is not called', async t => {
  const { bucket, take, pass } = open(t, { perSec: 10, burst: 1 })
  const waiter = () => t.fail('it has left')
  take(1, waiter)
  t.equal(take(1, waiter), 0)
  pass(50)

  bucket.dequeue(waiter)

  pass(10_000)
  t.equal(bucket.waitedMs(), 50)
})
