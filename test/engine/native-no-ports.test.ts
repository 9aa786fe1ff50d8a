// The native engine on a system without a free local port towards a target. Each dial then blocks its thread, with all
// rules, while the kernel tries every port.
import { once } from 'node:events'
import { statSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { spawnChild } from '../support/child-process.ts'
import { compileLibrary } from './compile-c.ts'
import { nativeUnderTest } from './native-under-test.ts'

const native = nativeUnderTest()
const dir = t.testdir()
const library = join(dir, 'no-ports.so')
const connects = join(dir, 'connects')
const isCompiled = compileLibrary('no-ports.c', library)

if (!native.ok) t.plan(0, native.reason)
else if (!isCompiled) t.plan(0, 'there is no C compiler')
else
  t.test('twenty callers of a target without local ports are refused after a few dials', async t => {
    const preload = [process.env['LD_PRELOAD'], library].filter(Boolean).join(' ')
    const child = spawnChild(process.execPath, [join(import.meta.dirname, 'native-no-ports.ts')], {
      env: { ...process.env, LD_PRELOAD: preload, CONNECTS: connects },
      stdio: ['ignore', 'ignore', 'inherit', 'ipc']
    })
    t.teardown(() => child.kill('SIGKILL'))
    let seen: unknown
    child.on('message', (message: { readonly seen?: unknown }) => {
      seen = message.seen ?? seen // the test runner sends messages, too
    })
    t.same(await once(child, 'exit'), [0, null])

    t.same(seen, { ends: ['reset'], rejected: { no_local_port: 20 } })
    const { size } = statSync(connects)
    t.ok(size >= 1 && size < 10, `${size} dials`)
  })
