import t from 'tap'
import { afterCommit } from '../../kernel/store/after-commit.ts'
import { kernelStore } from '../../kernel/store/kernel-store.ts'
import { openRepeatedChanges } from '../../kit/repeated-changes.ts'
import { openStoreIn } from '../support/store.ts'

t.test('an after-commit callback runs once, before change returns, even if the body runs again', async t => {
  const opened = await openStoreIn(t, t.testdir(), [kernelStore])
  t.teardown(opened.close)
  const repeated = openRepeatedChanges({ placeOf: () => 'here' })
  t.teardown(repeated.close)
  const called: string[] = []

  for (const store of [opened, repeated.wrapStore(opened)]) {
    const result = await store.change(async em => {
      afterCommit(em, () => void called.push('first'))
      afterCommit(em, () => void called.push('second'))
      return called.length
    })

    t.equal(result, 0, 'nothing before the commit')
    t.same(called.splice(0), ['first', 'second'])
  }
})

t.test('a rolled back change or savepoint runs no callback', async t => {
  const store = await openStoreIn(t, t.testdir(), [kernelStore])
  t.teardown(store.close)
  const called: string[] = []
  const no = new Error('no')

  await store.change(async em => {
    afterCommit(em, () => void called.push('before'))
    const part = em.transactional(async inner => {
      afterCommit(inner, () => void called.push('undone'))
      await inner.transactional(async innermost =>
        afterCommit(innermost, () => void called.push('rolled back with the outer change'))
      )
      throw no
    })
    await t.rejects(part, no)
    await em.transactional(async inner => afterCommit(inner, () => void called.push('kept')))
  })
  const failed = store.change(async em => {
    afterCommit(em, () => void called.push('failed'))
    throw no
  })

  await t.rejects(failed, no)
  t.same(called, ['before', 'kept'])
  await t.rejects(
    store.read(async em => afterCommit(em, () => {})),
    { message: 'there is no change' }
  )
})
