// The short form of test/bench/soak.ts; SLUICE_SOAK_SECS and SLUICE_SOAK_SEED make it longer, and play a run again.
import t from 'tap'
import { soak } from '../bench/soak/soak.ts'
import { nativeUnderTest } from './native-under-test.ts'

const secs = Number(process.env['SLUICE_SOAK_SECS'] ?? 30)
const seed = Number(process.env['SLUICE_SOAK_SEED'] ?? Date.now() % 1_000_000)

const native = nativeUnderTest()
if (!native.ok) t.plan(0, native.reason)
else
  t.test(`${secs} s at random, seed ${seed}`, { timeout: (secs + 90) * 1_000 }, async t => {
    const { wrong, whole, kills, changes } = await soak({
      openEngine: native.openEngine,
      seed,
      secs,
      epochSecs: secs / 4,
      say: line => t.comment(line)
    })

    t.same(wrong, [])
    t.ok(whole > 0 && kills > 0 && changes > 0)
  })
