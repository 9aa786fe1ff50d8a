// The native engine on systems that refuse the system calls of its fast path.
import { once } from 'node:events'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import type { EngineEvent } from '../../agent/engine/engine.ts'
import { spawnChild } from '../support/child-process.ts'
import { compileLibrary } from './compile-c.ts'
import { nativeUnderTest } from './native-under-test.ts'

const native = nativeUnderTest()
const script = join(import.meta.dirname, 'native-refused-calls.ts')
const library = join(t.testdir(), 'refuse-calls.so')
const isCompiled = compileLibrary('refuse-calls.c', library)

async function eventsOf(t: Test, env: NodeJS.ProcessEnv): Promise<readonly EngineEvent[]> {
  const preload = [process.env['LD_PRELOAD'], library].filter(Boolean).join(' ')
  const child = spawnChild(process.execPath, [script], {
    env: { ...process.env, LD_PRELOAD: preload, ...env },
    stdio: ['ignore', 'ignore', 'inherit', 'ipc']
  })
  t.teardown(() => child.kill('SIGKILL'))
  let events: readonly EngineEvent[] = []
  child.on('message', (message: { events?: readonly EngineEvent[] }) => {
    events = message.events ?? events // the test runner sends messages, too
  })
  t.same(await once(child, 'exit'), [0, null], 'all bytes arrive')
  return events
}

const limit = 'fs.pipe-user-pages-soft' // the largest pipe of this system is not smaller
const selected = { kind: 'splice-selected' }
const rows: readonly (readonly [system: string, env: NodeJS.ProcessEnv, expected: readonly object[]])[] = [
  ['no restriction', {}, [selected]],
  ['no epoll_pwait2', { DENY_FINE_WAIT: '1' }, [selected]],
  ['splice forbidden', { DENY_SPLICE: '1' }, [{ kind: 'splice-unsupported', errno: 'EPERM' }]],
  [
    'a pipe size limit of 256 KiB',
    { LARGEST_PIPE: `${256 * 1024}` },
    [{ kind: 'pipe-size', requestedBytes: 2 ** 20, actualBytes: 256 * 1024, errno: 'EPERM', limit }, selected]
  ],
  [
    'a pipe size limit below the default',
    { LARGEST_PIPE: '4096' },
    [{ kind: 'pipe-size', requestedBytes: 2 ** 20, actualBytes: 64 * 1024, errno: 'EPERM', limit }, selected]
  ]
]

if (!native.ok) t.plan(0, native.reason)
else if (!isCompiled) t.plan(0, 'there is no C compiler')
else
  for (const [system, env, expected] of rows)
    t.test(`all bytes arrive, and the path is reported: ${system}`, async t =>
      t.match(await eventsOf(t, env), expected)
    )
