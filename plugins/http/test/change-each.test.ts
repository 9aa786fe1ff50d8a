// Parts of one request: how many of them hold the store, and who pays for them.
import t, { type Test } from 'tap'
import { Fault, limitReached } from '../../../kernel/base/errors.ts'
import { User } from '../../../kernel/identity/entities.ts'
import { kernelStore } from '../../../kernel/store/kernel-store.ts'
import { openStoreIn } from '../../../test/support/store.ts'
import { openChangeEach, type Part } from '../change/change-each.ts'
import type { Decision } from '../change/decision.ts'

const requestCall = {
  principal: { userId: 'ann', role: 'user', method: 'api_token' },
  requestInfo: { method: 'POST', path: '/', remoteAddr: '192.0.2.1' },
  requestId: 'r-1'
}

/** Runs 200 parts of one request, and counts those in each transaction. */
async function changeMany(
  t: Test,
  {
    partMs = 0,
    ...options
  }: { readonly isAtomic: boolean; readonly isRehearsal: boolean; readonly partMs?: number }
) {
  const store = await openStoreIn(t, t.testdir(), [kernelStore])
  t.teardown(store.close)
  const sizes: number[] = []
  let now = 0
  const changeEach = openChangeEach({
    store,
    clock: { now: () => 1, monotonic: () => now },
    log: {},
    recorder: { isNeeded: () => false, write: async () => null },
    nameRecords: async (fault: unknown) => fault
  } as never)
  const call = {
    ...requestCall,
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
        now += partMs
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
  'slow parts hold the store for little more than 20 ms, and parts of an atomic change for all of it',
  async t => {
    t.same(
      await changeMany(t, { isAtomic: false, isRehearsal: false, partMs: 10 }),
      [...Array(25)].flatMap(() => [3, 3, 2])
    )
    t.same(await changeMany(t, { isAtomic: false, isRehearsal: true, partMs: 100 }), Array(200).fill(1))
    t.same(await changeMany(t, { isAtomic: true, isRehearsal: false, partMs: 100 }), [200])
  }
)

t.test(
  'a dry run of an atomic change holds the store for 64 parts, and the change itself for all',
  async t => {
    t.same(await changeMany(t, { isAtomic: true, isRehearsal: true }), [64, 64, 64, 8])
    t.same(await changeMany(t, { isAtomic: true, isRehearsal: false }), [200])
  }
)

t.test('a refusal keeps its audit entry when a later transaction of its group fails', async t => {
  const store = await openStoreIn(t, t.testdir(), [kernelStore])
  t.teardown(store.close)
  const recorded: (string | null)[] = []
  let now = 0
  let transactions = 0
  const changeEach = openChangeEach({
    store,
    clock: { now: () => 1, monotonic: () => now },
    log: {},
    recorder: {
      isNeeded: () => true,
      write: async (decision: Decision) => {
        recorded.push(decision.reason)
        return decision
      }
    },
    nameRecords: async (fault: unknown) => fault
  } as never)
  const call = {
    ...requestCall,
    change: async (_: unknown, work: (em: never) => Promise<unknown>) => {
      transactions++
      if (transactions === 2) throw new Error('the disk is full')
      return store.change(em => work(em as never))
    }
  }
  const part: Part = {
    action: 'user.count',
    status: 200,
    run: ({ change }) =>
      change({ kind: 'user', id: 'ann' }, async () => {
        now += 100 // each has its own transaction
        throw new Fault(limitReached, 'no more')
      })
  }
  const options = { isAtomic: false, isRehearsal: false, resource: { kind: 'bulk', id: 'r-1' } }

  await t.rejects(changeEach(call as never, [part, part, part], options), { message: 'the disk is full' })

  t.same(recorded, [limitReached.code])
})
