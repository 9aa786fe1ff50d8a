// Urgent data, which Node cannot send. The kernel ends a read at the urgent mark, even if more bytes follow.
import { once } from 'node:events'
import { join } from 'node:path'
import t from 'tap'
import { spawnChild } from '../support/child-process.ts'
import { compileProgram } from './compile-c.ts'
import { engineFixture, openTarget, ruleTo, until } from './engine-fixture.ts'
import { nativeUnderTest } from './native-under-test.ts'

const native = nativeUnderTest()
const program = join(t.testdir(), 'urgent')
const isCompiled = compileProgram('urgent.c', program)

if (!native.ok) t.plan(0, native.reason)
else if (!isCompiled) t.plan(0, 'there is no C compiler')
else
  t.test('bytes after an urgent byte are forwarded without waiting for the next packet', async t => {
    const { engine, events } = engineFixture(t, native.openEngine)
    const received: Buffer[] = []
    const port = await openTarget(t, socket => socket.on('data', bytes => received.push(bytes)))
    const rule = await ruleTo([{ host: 'late.test', port }])
    await engine.open(rule)
    const { LD_PRELOAD: _, ...env } = process.env
    const caller = spawnChild(program, [String(rule.from)], { env, stdio: ['pipe', 'pipe', 'inherit'] })
    t.teardown(() => caller.kill())
    await once(caller.stdout, 'data') // all bytes are sent before the target is dialed

    await until(() => events.some(({ kind }) => kind === 'resolve'))
    for (const event of events)
      if (event.kind === 'resolve') engine.resolved(event.token, { ok: true, addresses: ['127.0.0.1'] })

    await until(() => received.length > 0 && Buffer.concat(received).length >= 4)
    t.equal(Buffer.concat(received).toString(), 'abcd')
    caller.stdin.end()
    await once(caller, 'exit')
  })
