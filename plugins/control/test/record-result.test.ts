import type { EntityManager } from '@mikro-orm/sql'
import t from 'tap'
import { fakeClock } from '../../../kit/fake-clock.ts'
import { PendingResults } from '../objects/pending-results.ts'
import { openRecordResult } from '../objects/record-result.ts'

const object = { clientId: 'paris', kind: 'thing', id: 'one' }

/** Records the result of revision 8 while a change waits for revision 7. `isStored`: peers have it, too. */
async function recordLater(isStored: boolean) {
  const clock = fakeClock()
  const pending = new PendingResults(clock)
  const watched: unknown[] = []
  const stored: number[] = []
  const record = openRecordResult({
    store: {
      change: (work: (em: EntityManager) => Promise<unknown>) =>
        work({ execute: async () => [{ ...object, revision: 8 }] } as unknown as EntityManager)
    } as never,
    clock,
    log: { error() {} } as never,
    kinds: () => new Map([['thing', { kind: 'thing' } as never]]),
    pending,
    budgets: { of: () => ({ charge() {} }) as never },
    servers: {
      inForce: async sessions => new Set(sessions.map(({ sessionId }) => sessionId)),
      async storeResults(of) {
        stored.push(...of.map(({ row }) => row.revision))
        return isStored
      },
      signal() {},
      watchResult: expected => void watched.push(expected)
    }
  })
  const peer = { ended: new AbortController().signal } as never
  const expected = pending.expect({ ...object, revision: 7 }, 'push', peer)
  const outcome = await record({ ...object, revision: 8, removal: null }, { status: 'applied' }, 's')
  return { expected, outcome, watched, stored }
}

t.test('a change is answered if a peer joins after its result was stored for nobody', async t => {
  const { expected, outcome, watched } = await recordLater(false)

  t.equal(outcome, 'recorded')
  t.strictSame(watched, [], 'no peer will have it')
  t.strictSame(await expected.result, { status: 'applied' })
})

t.test('a result that peers have too is read back in the order of revisions', async t => {
  const { expected, outcome, watched, stored } = await recordLater(true)

  t.equal(outcome, 'recorded')
  t.strictSame(stored, [8])
  t.strictSame(watched, [expected], 'the result of revision 7 may be there')
})
