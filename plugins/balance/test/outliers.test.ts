// Ejects targets for increasing times and returns them to service.
import t from 'tap'
import { type Limits, Outliers } from '../outliers.ts'

const byDefault: Limits = { slowMs: 250, slowStartMs: 10_000, keepsShares: false }

function watch(names: readonly string[], { limits = byDefault, tiers = names.map(() => 0) } = {}) {
  const outliers = new Outliers()
  const observed = names.map(() => ({ health: 'healthy' as string, failures: 0, connects: 0, connectMs: 0 }))
  let now = 1_000
  outliers.begin(names, now)
  const judge = () =>
    outliers.judge(
      names.map((name, at) => ({
        name,
        tier: tiers[at] ?? 0,
        weight: 1,
        observed: observed[at] as never
      })),
      limits,
      now
    )
  return {
    outliers,
    fail(at: number, reason = 'refused') {
      Object.assign(observed[at] ?? {}, { health: 'failed', failures: (observed[at]?.failures ?? 0) + 3 })
      outliers.failed(names[at] ?? '', reason)
      judge()
    },
    heal(at: number) {
      Object.assign(observed[at] ?? {}, { health: 'healthy' })
      judge()
    },
    /** Lets each target connect ten times in this and in the last second, with these connect times. */
    connect(...ms: readonly number[]) {
      judge()
      now += 1_000
      for (const [at, target] of observed.entries()) {
        target.connects += 10
        target.connectMs += 10 * (ms[at] ?? 0)
      }
      judge()
    },
    /** Judges once a second, as the agent does. */
    pass(secs: number) {
      for (let passed = 0; passed < secs; passed++) {
        now += 1_000
        judge()
      }
    },
    /** Returns the share of each target, or the reason of its ejection and the remaining seconds. */
    parts: () =>
      outliers
        .parts(names, limits, now)
        .map(part => ('share' in part ? part.share : `${part.reason} ${(part.untilMs - now) / 1000}`))
  }
}

t.test(
  'a failed target is ejected, tried again, and ejected twice as long each time, at most 5 minutes',
  async t => {
    const { fail, pass, parts } = watch(['a', 'b'])
    for (const secs of [10, 20, 40, 80, 160, 300, 300]) {
      fail(0, 'timeout')
      t.same(parts(), [`timeout ${secs}`, 1])
      pass(secs - 1)
      t.same(parts(), ['timeout 1', 1])
      pass(1)
      t.same(parts(), [0.1, 1], 'it is tried again')
    }
  }
)

t.test('each minute without problems undoes one doubling', async t => {
  const { fail, heal, pass, parts } = watch(['a', 'b'])
  for (const secs of [10, 20, 40]) {
    fail(0)
    pass(secs)
  }
  heal(0)
  pass(60)
  fail(0)
  t.same(parts(), ['refused 40', 1])
  heal(0)
  pass(600)

  fail(0)

  t.same(parts(), ['refused 10', 1])
})

t.test('a successful health check ends an ejection, and the share grows', async t => {
  const { fail, heal, pass, parts } = watch(['a', 'b'])
  fail(0)
  pass(2)
  heal(0)
  t.same(parts(), [0.1, 1])
  pass(4)
  t.same(parts(), [0.4, 1])
  pass(20)
  t.same(parts(), [1, 1])
})

t.test('a slow target is ejected if it takes three times as long and exceeds the margin', async t => {
  const { connect, pass, parts } = watch(['a', 'b', 'c'])
  connect(240, 1, 1)
  t.same(parts(), [1, 1, 1], 'below the margin')
  pass(11)
  connect(900, 400, 400)
  t.same(parts(), [1, 1, 1], 'below three times')
  pass(11)
  connect(1300, 400, 400)
  t.same(parts(), ['slow_connect 10', 1, 1])
  pass(10)
  t.same(parts(), [0.1, 1, 1])
})

t.test('slowness ejects at most half of a priority, slowest first', async t => {
  const four = watch(['a', 'b', 'c', 'd'])
  four.connect(2000, 3000, 1, 1)
  t.same(four.parts(), ['slow_connect 10', 'slow_connect 10', 1, 1])

  const three = watch(['a', 'b', 'c'])
  three.connect(2000, 3000, 1)
  t.same(three.parts(), [1, 'slow_connect 10', 1])

  const two = watch(['a', 'b'])
  two.fail(1)
  two.connect(3000, 1)
  t.same(two.parts(), [1, 'refused 9'], 'the last one stays')

  const tiers = watch(['a', 'b'], { tiers: [0, 1] })
  tiers.connect(3000, 1)
  t.same(tiers.parts(), [1, 1], 'each priority is judged separately')
})

t.test('failures may eject all targets', async t => {
  const { fail, parts } = watch(['a', 'b'])
  fail(0)
  fail(1, 'unreachable')
  t.same(parts(), ['refused 10', 'unreachable 10'])
})

t.test('0 ms ejects no slow target, and 0 s gives the full share at once', async t => {
  const { connect, fail, pass, parts } = watch(['a', 'b'], {
    limits: { ...byDefault, slowMs: 0, slowStartMs: 0 }
  })
  connect(3000, 1)
  t.same(parts(), [1, 1])
  fail(0)
  pass(10)
  t.same(parts(), [1, 1])
})

t.test('a target that joins starts with a small share; targets of a new rule do not', async t => {
  const outliers = new Outliers()
  outliers.begin(['a', 'b'], 0)
  outliers.begin(['b', 'c'], 5_000)
  t.same(outliers.parts(['b', 'c'], byDefault, 5_000), [{ share: 1 }, { share: 0.1 }])
  t.same(outliers.parts(['b', 'c'], byDefault, 10_000), [{ share: 1 }, { share: 0.5 }])
})

t.test('a reopened rule counts from 0', async t => {
  const { outliers, fail, pass, parts } = watch(['a', 'b'])
  fail(0)
  pass(10)
  const counted = { health: 'failed' as const, failures: 1, connects: 0, connectMs: 0 }

  outliers.judge([{ name: 'a', tier: 0, weight: 1, observed: counted }], byDefault, 12_000)

  t.match(parts()[0], /^refused/)
})

t.test('an ejection waits for its reason if counters are ahead', async t => {
  const outliers = new Outliers()
  const failed = { health: 'failed' as const, failures: 3, connects: 0, connectMs: 0 }
  const judgeAt = (at: number) =>
    outliers.judge([{ name: 'a', tier: 0, weight: 1, observed: failed }], byDefault, at)
  outliers.begin(['a'], 0)

  judgeAt(1_000)
  t.same(outliers.parts(['a'], byDefault, 1_000), [{ share: 1 }])
  outliers.failed('a', 'timeout')
  judgeAt(1_001)

  t.same(outliers.parts(['a'], byDefault, 1_001), [{ reason: 'timeout', untilMs: 11_001 }])
})

t.test('an ejected target shows its reason even if it arrives late', async t => {
  const outliers = new Outliers()
  const failed = { health: 'failed' as const, failures: 3, connects: 0, connectMs: 0 }
  outliers.begin(['a'], 0)
  for (const now of [1_000, 2_000])
    outliers.judge([{ name: 'a', tier: 0, weight: 1, observed: failed }], byDefault, now)
  t.match(outliers.parts(['a'], byDefault, 2_000), [{ untilMs: 12_000 }])

  outliers.failed('a', 'refused')

  t.same(outliers.parts(['a'], byDefault, 2_001), [{ reason: 'refused', untilMs: 12_000 }])
})
