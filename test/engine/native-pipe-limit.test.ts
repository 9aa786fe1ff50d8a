// The native engine when stalled transfers use up the pipes that the system allows its user.
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { spawnChild } from '../support/child-process.ts'
import { compileLibrary } from './compile-c.ts'
import { nativeUnderTest } from './native-under-test.ts'

const native = nativeUnderTest()
const library = join(t.testdir(), 'limit-pipes.so')
const isCompiled = compileLibrary('limit-pipes.c', library)

if (!native.ok) t.plan(0, native.reason)
else if (!isCompiled) t.plan(0, 'there is no C compiler')
else
  t.test('transfers beside and after stalled ones are spliced through large pipes', async t => {
    const file = join(t.testdir(), 'spliced.json')
    const preload = [process.env['LD_PRELOAD'], library].filter(Boolean).join(' ')
    const child = spawnChild(process.execPath, [join(import.meta.dirname, 'native-pipe-limit.ts')], {
      env: { ...process.env, LD_PRELOAD: preload, PIPE_BYTES: `${4 * 2 ** 20}`, SPLICED: file },
      stdio: ['ignore', 'ignore', 'inherit', 'ipc']
    })
    t.teardown(() => child.kill('SIGKILL'))
    let stalled = 0
    child.on('message', (message: { readonly stalledBytes?: number }) => {
      stalled = message.stalledBytes ?? stalled // the test runner sends messages, too
    })

    t.same(await once(child, 'exit'), [0, null], 'all bytes arrive')

    const { small, large } = JSON.parse(readFileSync(file, 'utf8'))
    t.equal(small, 0, 'no byte passes a small pipe')
    t.ok(large - stalled > 60_000_000, `${large - stalled} of 64,000,000 bytes were spliced`)
  })
