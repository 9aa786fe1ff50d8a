// The native engine when the kernel has no memory for another epoll watch.
import { once } from 'node:events'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { spawnChild } from '../support/child-process.ts'
import { compileLibrary } from './compile-c.ts'
import { nativeUnderTest } from './native-under-test.ts'

const native = nativeUnderTest()
const library = join(t.testdir(), 'no-watches.so')
const isCompiled = compileLibrary('no-watches.c', library)

async function seenWithout(t: Test, what: 'connections' | 'listener'): Promise<unknown> {
  const preload = [process.env['LD_PRELOAD'], library].filter(Boolean).join(' ')
  const child = spawnChild(process.execPath, [join(import.meta.dirname, 'native-no-watches.ts')], {
    env: { ...process.env, LD_PRELOAD: preload, FAIL_WATCHES_OF: what },
    stdio: ['ignore', 'ignore', 'inherit', 'ipc']
  })
  t.teardown(() => child.kill('SIGKILL'))
  let seen: unknown
  child.on('message', (message: { readonly seen?: unknown }) => {
    seen = message.seen ?? seen // the test runner sends messages, too
  })
  t.same(await once(child, 'exit'), [0, null])
  return seen
}

if (!native.ok) t.plan(0, native.reason)
else if (!isCompiled) t.plan(0, 'there is no C compiler')
else {
  t.test('connections that cannot be watched are refused, and do not affect target health', async t =>
    t.same(await seenWithout(t, 'connections'), { rejected: { no_memory: 5 }, failures: 0 })
  )
  t.test('a UDP listener that cannot be watched at first receives datagrams later', async t =>
    t.equal(await seenWithout(t, 'listener'), 'heard')
  )
}
