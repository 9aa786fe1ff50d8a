import t from 'tap'
import { fakeClock } from '../../kit/fake-clock.ts'

t.test('a timer that is set after a random delay is not late by its fraction', async t => {
  const clock = fakeClock()
  let firedAt: number | null = null
  clock.after(1977.04, () => {
    clock.after(10_000 - Math.floor(clock.monotonic()), () => {
      firedAt = clock.monotonic()
    })
  })

  await clock.advance(10_000)

  t.equal(firedAt, 10_000)
})
