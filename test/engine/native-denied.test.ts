// A system that refuses what the fast path needs.
import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import type { EngineEvent } from '../../agent/engine.ts'
import { nativeUnderTest } from './native-under-test.ts'

const native = nativeUnderTest()
const source = join(import.meta.dirname, '../../native/test/denied.c')
const script = join(import.meta.dirname, 'native-denied.ts')
const library = join(t.testdir(), 'denied.so')
const { status } = spawnSync('cc', ['-shared', '-fPIC', '-o', library, source, '-ldl'], { stdio: 'ignore' })

async function carried(t: Test, env: NodeJS.ProcessEnv): Promise<readonly EngineEvent[]> {
  const preload = [process.env['LD_PRELOAD'], library].filter(Boolean).join(' ')
  const child = spawn(process.execPath, [script], {
    env: { ...process.env, LD_PRELOAD: preload, ...env },
    stdio: ['ignore', 'ignore', 'inherit', 'ipc']
  })
  t.teardown(() => child.kill('SIGKILL'))
  let told: readonly EngineEvent[] = []
  child.on('message', (message: { told?: readonly EngineEvent[] }) => {
    told = message.told ?? told // the runner says things, too
  })
  t.same(await once(child, 'exit'), [0, null], 'all bytes arrive')
  return told
}

const selected = { kind: 'splice-selected' }
const rows: readonly (readonly [who: string, env: NodeJS.ProcessEnv, told: readonly object[]])[] = [
  ['a system that allows all', {}, [selected]],
  ['a kernel without fine timers', { DENY_FINE_WAIT: '1' }, [selected]],
  ['a policy against splice', { DENY_SPLICE: '1' }, [{ kind: 'splice-unsupported', errno: 'EPERM' }]],
  [
    'a limit of pipes at a quarter of a MiB',
    { LARGEST_PIPE: `${256 * 1024}` },
    [{ kind: 'pipe-size', requestedBytes: 2 ** 20, actualBytes: 256 * 1024, errno: 'EPERM' }, selected]
  ],
  [
    'a limit of pipes at nothing more than there is',
    { LARGEST_PIPE: '4096' },
    [{ kind: 'pipe-size', requestedBytes: 2 ** 20, actualBytes: 64 * 1024, errno: 'EPERM' }, selected]
  ]
]

if (!native.ok) t.plan(0, native.reason)
else if (status !== 0) t.plan(0, 'there is no C compiler')
else for (const [who, env, told] of rows) t.test(who, async t => t.match(await carried(t, env), told))
