// The suite names the file and test of each failure, and leaves nothing behind when interrupted.
import { once } from 'node:events'
import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import t, { type Test } from 'tap'
import { killChild, spawnChild } from '../support/child-process.ts'

const root = join(import.meta.dirname, '..', '..')

function startSuite(t: Test, files: string, more: NodeJS.ProcessEnv = {}) {
  const env = { ...process.env, TMPDIR: t.testdir(), SUITE: `test/suite/cases/${files}.ts`, ...more }
  const suite = spawnChild(process.execPath, [join(import.meta.dirname, 'suite.ts')], {
    cwd: root,
    env,
    stdio: ['ignore', 'pipe', 'pipe']
  })
  t.teardown(() => killChild(suite))
  return suite
}

t.test('each failing test is reported with its file, and the next file runs', async t => {
  const suite = startSuite(
    t,
    '{failed-assertion,uncaught-error,unhandled-rejection,endless-test,process-exit,leftovers,passing-test}'
  )
  const closed = once(suite, 'close')
  const output = await text(suite.stdout)

  t.same(await closed, [1, null])
  t.match(output, /^ {4}not ok 1 - a test that fails/m)
  t.match(output, /^not ok \d - test\/suite\/cases\/failed-assertion\.ts/m)
  t.match(output, /^ {8}not ok 1 - thrown by a timer/m)
  t.match(output, /^ {4}not ok 1 - a test with a timer that throws/m)
  t.match(output, /^ {4}ok 2 - the test after it/m)
  t.match(output, /^ {8}not ok 1 - not handled/m)
  t.match(output, /^not ok \d - test\/suite\/cases\/unhandled-rejection\.ts/m)
  t.match(output, /^ {8}not ok 1 - timeout!\n +---\n +expired: a test that hangs/m)
  t.match(output, /^not ok \d - test\/suite\/cases\/endless-test\.ts/m)
  t.match(output, /^ {4}not ok 1 - the process of test\/suite\/cases\/process-exit\.ts ended: 0/m)
  t.match(output, /^ok \d - test\/suite\/cases\/passing-test\.ts/m)
  for (const left of [
    'variable SUITE_LEFT',
    'working directory',
    '1 TCPServerWrap',
    '1 ProcessWrap',
    'file '
  ])
    t.match(output, new RegExp(`not ok \\d - test/suite/cases/leftovers\\.ts left behind: .*${left}`))
})

t.test('a file that blocks its process is named, and its process is killed', async t => {
  const suite = startSuite(t, 'endless-loop', { SUITE_FILE_MS: '1500' })
  const closed = once(suite, 'close')
  const output = await text(suite.stdout)

  t.same(await closed, [1, null])
  t.match(output, /^not ok \d - test\/suite\/cases\/endless-loop\.ts/m)
  t.match(output, /the process of test\/suite\/cases\/endless-loop\.ts ended: SIGKILL/)
})

for (const signal of ['SIGKILL', 'SIGTERM', 'SIGINT'] as const)
  t.test(`a suite that ends by ${signal} leaves no process or file behind`, async t => {
    const suite = startSuite(t, 'endless-child')
    const closed = once(suite, 'close') // when no process can write to its output
    await once(suite.stderr, 'data')

    process.kill(suite.pid!, signal)

    t.not((await closed)[0], 0)
    t.same(readdirSync(t.testdirName), [])
  })
