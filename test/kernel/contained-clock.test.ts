import t from 'tap'
import type { Clock } from '../../kernel/base/clock.ts'
import { containedClock } from '../../kernel/platform/plugins/containment.ts'
import { fakeClock } from '../../kit/fake-clock.ts'
import { type LogLine, recordLog } from '../../kit/record-log.ts'

/** Starts the work with `every`, on a clock that the test moves. */
function ticking(work: () => Promise<void>) {
  const log: LogLine[] = []
  const ticks: (() => void)[] = []
  const every: Clock['every'] = (_ms, tick) => {
    ticks.push(tick)
    return () => {}
  }
  containedClock({ ...fakeClock(), every }, 'acme', recordLog(log)).every(1000, work as () => void)
  const settled = () => new Promise<void>(resolve => setImmediate(resolve))
  const tick = async (times: number): Promise<void> => {
    await settled()
    for (let i = 0; i < times; i++) {
      for (const run of ticks) run()
      await settled()
    }
  }
  return { tick, log }
}

t.test('interval work of a plugin does not run again while it still runs', async t => {
  const { promise, resolve } = Promise.withResolvers<void>()
  let runs = 0
  const { tick } = ticking(() => {
    runs++
    return promise
  })
  await tick(10)
  t.equal(runs, 1)
  resolve()
  await tick(3)
  t.equal(runs, 4)
})

t.test('interval work that fails skips 0, 1, 3 and 7 runs, and none after a success', async t => {
  let runs = 0
  let isFailing = true
  const { tick, log } = ticking(async () => {
    runs++
    if (isFailing) throw new Error('no')
  })
  await tick(8) // runs at 1, 2, 4, 8
  t.equal(runs, 4)
  t.equal(log.length, 1, 'a series is logged once')
  isFailing = false
  await tick(8)
  t.equal(runs, 5)
  await tick(2)
  t.equal(runs, 7)
})
