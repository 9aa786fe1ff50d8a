import { randomInt } from 'node:crypto'
import { mock } from 'node:test'
import t, { type Test } from 'tap'
import type { Rate } from '../../agent/engine/engine.ts'
import { TokenBucket } from '../../agent/portable-engine/meters/token-bucket.ts'
import type { Retry } from '../../agent/portable-engine/meters/waiter.ts'

interface Taken {
  readonly atMs: number
  readonly tokens: number
}

/** Opens a bucket with a fake clock, and a record of the tokens taken from it. */
function openBucket(t: Test, rate: Rate | null) {
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
    advance(ms: number) {
      nowMs += ms
      mock.timers.tick(ms)
    },
    /** Adds a waiter that always wants `want` more tokens. The returned function gives the number received. */
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

/** Returns by how much the worst window exceeds perSec * t + burst. */
function excess(taken: readonly Taken[], { perSec, burst }: Rate): number {
  let level = 0 // of a leaky bucket that taken tokens fill
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
  t.test(
    `no window gives more than ${rate.perSec} tokens per second plus a burst of ${rate.burst}`,
    async t => {
      const { taken, greedy, advance } = openBucket(t, rate)
      for (const want of [1, 700, 65_536]) greedy(want)

      for (let i = 0; i < 2_000; i++) advance(randomInt(1, 8))

      t.ok(excess(taken, rate) <= 0.001, `${excess(taken, rate)} above`)
    }
  )
}

t.test('after the burst the full rate is used, even when timers fire late', async t => {
  const { taken, greedy, advance } = openBucket(t, { perSec: 1_000_000, burst: 100_000 })
  for (let i = 0; i < 10; i++) greedy(65_536)
  const spent = () => taken.reduce((sum, { tokens }) => sum + tokens, 0)
  advance(1_000)
  const before = spent()

  for (let i = 0; i < 125; i++) advance(40)

  const share = (spent() - before) / 5_000_000
  t.ok(share > 0.95 && share <= 1.02, `${share} of the rate`)
})

t.test('waiters are served in order, and no newcomer overtakes them', async t => {
  const { greedy, advance, take } = openBucket(t, { perSec: 1_000_000, burst: 50_000 })
  const all = Array.from({ length: 7 }, () => greedy(65_536))

  let overtaken = 0
  for (let i = 0; i < 700; i++) {
    advance(10)
    overtaken += take(1, newcomer)
  }

  t.equal(overtaken, 0)
  const sum = all.reduce((sum, got) => sum + got(), 0)
  t.ok(
    all.every(got => got() > sum / 9),
    `${all.map(got => got())}`
  )
})
const newcomer: Retry = () => {}

t.test('a new rate applies to waiters at once, and a bucket never exceeds its burst', async t => {
  const { bucket, greedy, advance } = openBucket(t, { perSec: 1_000, burst: 1_000 })
  const got = greedy(100)
  t.equal(got(), 1_000)

  bucket.setRate({ perSec: 1_000_000, burst: 10_000 })
  for (let i = 0; i < 20; i++) advance(5)
  t.ok(got() > 50_000)
  bucket.setRate({ perSec: 0, burst: 10 })
  const stopped = got()
  advance(60_000)
  t.ok(got() <= stopped + 10)
  t.ok(bucket.waitedMs() > 59_000)
  t.notOk(bucket.has(11))
})

t.test('without a rate everything passes, and lifting a rate wakes the waiters', async t => {
  const { bucket, take } = openBucket(t, { perSec: 1, burst: 1 })
  let called = 0
  const waiter = () => void called++
  t.equal(take(1, waiter), 1)
  t.equal(take(5, waiter), 0)

  bucket.setRate(null)

  t.equal(called, 1)
  t.equal(take(1_000_000, waiter), 1_000_000)
  t.ok(bucket.has(1e9))
})

t.test('a waiter that has left the queue is not called', async t => {
  const { bucket, take, advance } = openBucket(t, { perSec: 10, burst: 1 })
  const waiter = () => t.fail('called after it left the queue')
  take(1, waiter)
  t.equal(take(1, waiter), 0)
  advance(50)

  bucket.dequeue(waiter)

  advance(10_000)
  t.equal(bucket.waitedMs(), 50)
})
