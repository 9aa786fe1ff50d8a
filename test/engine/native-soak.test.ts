// Everything at random and at once for a few seconds; `npm run soak` is the same for as long as you like.
import t from 'tap'
import { soak } from '../bench/soak/soak.ts'
import { nativeUnderTest } from './native-under-test.ts'

const native = nativeUnderTest()
const seed = Date.now() % 1_000_000
if (!native.ok) t.plan(0, native.reason)
else
  t.test(`two lives of an engine at random, seed ${seed}, leave nothing that may not be`, async t => {
    const { wrong } = await soak({
      openEngine: native.openEngine,
      seed,
      secs: 8,
      epochSecs: 4,
      least: { talks: 1, changes: 1, kills: 1 },
      say: line => t.comment(line)
    })

    t.same(wrong, [])
  })
