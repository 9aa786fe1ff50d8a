// Parts of one request: how many of them hold the store, and who pays for them.
import t, { type Test } from 'tap'
import { User } from '../../../kernel/identity/entities.ts'
import { kernelStore } from '../../../kernel/store/kernel-store.ts'
import { openStoreIn } from '../../../test/support/store.ts'
import { openChangeEach, type Part } from '../change/change-each.ts'

/** Runs 200 parts of one request, and counts those in each transaction. */
async function changeMany(t: Test, options: { readonly isAtomic: boolean; readonly isRehearsal: boolean }) {
  const store = await openStoreIn(t, t.testdir(), [kernelStore])
  t.teardown(store.close)
  const sizes: number[] = []
  const changeEach = openChangeEach({
    store,
    clock: { now: () => 1 },
    log: {},
    recorder: { isNeeded: () => false, write: async () => null },
    nameRecords: async (fault: unknown) => fault
  } as never)
  const call = {
    principal: { userId: 'ann', role: 'user', method: 'api_token' },
    requestInfo: { method: 'POST', path: '/', remoteAddr: '192.0.2.1' },
    requestId: 'r-1',
    change: (_: unknown, work: (em: never) => Promise<unknown>) => {
      sizes.push(0)
      return store.change(em => work(em as never))
    }
  }
  const part: Part = {
    action: 'user.count',
    status: 200,
    run: ({ change }) =>
      change({ kind: 'user', id: 'ann' }, em => {
        sizes.push((sizes.pop() ?? 0) + 1)
        return em.count(User)
      })
  }
  const results = await changeEach(call as never, Array(200).fill(part), {
    ...options,
    resource: { kind: 'bulk', id: 'r-1' }
  })
  t.same(results, Array(200).fill(null))
  return sizes
}

t.test('parts hold the store in groups of 8, so that other changes run in between', async t => {
  t.same(await changeMany(t, { isAtomic: false, isRehearsal: false }), Array(25).fill(8))
  t.same(await changeMany(t, { isAtomic: false, isRehearsal: true }), Array(25).fill(8))
})

t.test(
  'a dry run of an atomic change holds the store for 64 parts, and the change itself for all',
  async t => {
    t.same(await changeMany(t, { isAtomic: true, isRehearsal: true }), [64, 64, 64, 8])
    t.same(await changeMany(t, { isAtomic: true, isRehearsal: false }), [200])
  }
)
