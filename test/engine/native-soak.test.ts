// Runs random operations concurrently for a few seconds. `npm run soak` runs them for longer.
import t from 'tap'
import { soak } from '../bench/soak/soak.ts'
import { nativeUnderTest } from './native-under-test.ts'

const native = nativeUnderTest()
const seed = Date.now() % 1_000_000
if (!native.ok) t.plan(0, native.reason)
else
  t.test(`engines survive random operations (seed ${seed}) without a wrong byte or counter`, async t => {
    const { failures } = await soak({
      openEngine: native.openEngine,
      seed,
      secs: 8,
      secsPerRun: 4,
      atLeast: { transfers: 1, changes: 1, kills: 1 },
      log: line => t.comment(line)
    })

    t.same(failures, [])
  })
