// Teardowns run before tap removes a test's directory: see config/build/tap-preload.mjs.
import { existsSync } from 'node:fs'
import t from 'tap'

const dir = t.testdir()
const known: Record<string, boolean> = {}

t.test('a test directory made before a teardown is registered', async t => {
  const testDir = t.testdir()
  t.teardown(() => {
    known['of a test'] = existsSync(testDir)
  })
  await t.test('also in a subtest', async t => {
    const ofInner = t.testdir()
    t.teardown(() => {
      known['of a subtest'] = existsSync(ofInner)
    })
  })
})

t.test('exists until the teardown has ended', async t =>
  t.same(known, { 'of a test': true, 'of a subtest': true })
)

t.teardown(() => {
  if (!existsSync(dir)) throw new Error('the directory of the file was removed before its teardown')
})
