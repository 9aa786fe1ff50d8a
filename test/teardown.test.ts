// Teardowns run before tap removes a test's directory: see config/build/tap-preload.mjs.
import { existsSync } from 'node:fs'
import t from 'tap'

const dir = t.testdir()
const known: Record<string, boolean> = {}

t.test('a directory that was made first', async t => {
  const ofTest = t.testdir()
  t.teardown(() => {
    known['of a test'] = existsSync(ofTest)
  })
  await t.test('also in a test of the test', async t => {
    const ofInner = t.testdir()
    t.teardown(() => {
      known['of an inner test'] = existsSync(ofInner)
    })
  })
})

t.test('is there until what was torn down had ended', async t =>
  t.same(known, { 'of a test': true, 'of an inner test': true })
)

t.teardown(() => {
  if (!existsSync(dir)) throw new Error('the directory of the file was removed before its teardown')
})
