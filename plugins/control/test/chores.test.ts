import t from 'tap'
import { Fault, storeUnavailable } from '../../../kernel/base/errors.ts'
import { type FakeClock, fakeClock } from '../../../kit/fake-clock.ts'
import { testServer } from '../../../kit/test-server.ts'

/** A clock that handles rejected work like the clock of a server: it records the failure and continues. */
function containing(failed: unknown[]): FakeClock {
  const clock = fakeClock()
  return {
    ...clock,
    every: (ms, work) =>
      clock.every(ms, () => {
        const done: unknown = work()
        if (done instanceof Promise) done.catch(error => failed.push(error))
      })
  }
}

t.test('a server survives chores that are due while the store is unavailable', async t => {
  let isUnavailable = false
  const failed: unknown[] = []
  const app = await testServer(t, {
    clock: containing(failed),
    wrapStore: store =>
      new Proxy(store, {
        get: (of, name) =>
          isUnavailable && name === 'change'
            ? () => Promise.reject(new Fault(storeUnavailable, 'the store is unavailable'))
            : Reflect.get(of, name, of)
      })
  })

  isUnavailable = true
  await app.clock.advance(3_600_000)
  isUnavailable = false

  t.ok(failed.length > 0, 'the clock gets the failures')
  t.same(
    app.log.filter(({ fields }) => fields['hook'] === 'uncaught').map(({ fields }) => fields['error']),
    [],
    'every failure is caught; an uncaught one would end the process'
  )
})
