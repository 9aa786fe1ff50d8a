// Limits and leaks that show only when an engine has its own process.
import type { ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { spawnChild } from '../support/child-process.ts'
import { freePort } from '../support/ports.ts'
import { echo, endOf, exchange, openCaller, openTarget } from './engine-fixture.ts'
import { nativeUnderTest } from './native-under-test.ts'
import type { EngineState } from './separate-process.ts'

const file = join(import.meta.dirname, 'separate-process.ts')
const descriptorLimit = 160

async function openInProcess(t: Test, engine: string): Promise<{ child: ChildProcess; port: number }> {
  const port = await freePort()
  const target = await openTarget(t, echo)
  const command = `ulimit -n ${descriptorLimit} && exec "$0" "$@"`
  const child = spawnChild('sh', ['-c', command, process.execPath, file, `${port}`, `${target}`, engine], {
    stdio: ['ignore', 'inherit', 'inherit', 'ipc']
  })
  t.teardown(() => child.kill('SIGKILL'))
  await once(child, 'message')
  return { child, port }
}

async function stateOf(child: ChildProcess): Promise<EngineState> {
  child.send('state')
  const [state] = await once(child, 'message')
  return state
}

const engines = nativeUnderTest().ok ? ['portable', 'native'] : ['portable']
for (const engine of engines) {
  t.test(`${engine}: before descriptors run out, callers are refused, and accepted again later`, async t => {
    const { child, port } = await openInProcess(t, engine)

    const callers = await Promise.all(Array.from({ length: 80 }, () => openCaller(t, port)))
    const outcomes = await Promise.all(
      callers.map(caller => Promise.race([exchange(caller, 'hello').catch(() => 'reset'), endOf(caller)]))
    )

    const served = outcomes.filter(outcome => outcome === 'hello').length
    const { counters, descriptors } = await stateOf(child)
    t.ok(served > 0 && served < 80, `${served} are served`)
    t.match(counters, { connectionsTotal: served, rejected: { descriptors: 80 - served } })
    t.ok(descriptors <= descriptorLimit - 64 + 1, `${descriptors} are in use`) // one of them reads /proc/self/fd
    for (const caller of callers) caller.destroy()
    while ((await stateOf(child)).counters?.ports[0]?.active !== 0);
    t.equal(await exchange(await openCaller(t, port), 'again'), 'again')
  })

  t.test(`${engine}: a stopped engine lets its process exit`, async t => {
    const { child, port } = await openInProcess(t, engine)
    const callers = await Promise.all(Array.from({ length: 5 }, () => openCaller(t, port)))
    await Promise.all(callers.map(caller => exchange(caller, 'hello')))

    child.send('stop')

    t.same(await once(child, 'exit'), [0, null])
    t.ok((await Promise.all(callers.map(endOf))).every(end => end === 'reset'))
  })

  t.test(
    `${engine}: 300 connections through all kinds of limits leak neither descriptors nor timers`,
    async t => {
      const { child, port } = await openInProcess(t, engine)
      const request = 'x'.repeat(5_000)
      const exchangeOnce = async () => {
        const caller = await openCaller(t, port)
        caller.write(request)
        const reply = await once(caller, 'data')
        caller.destroy()
        return reply
      }
      const stateWithoutConnections = async () => {
        for (let state = await stateOf(child); ; state = await stateOf(child))
          if (state.counters?.ports[0]?.active === 0) return state
      }
      await exchangeOnce()
      const before = await stateWithoutConnections()

      for (let i = 0; i < 300; i++) await exchangeOnce()

      const { counters, meters, descriptors, resources } = await stateWithoutConnections()
      t.equal(counters?.connectionsTotal, 301)
      t.match(meters, [{ active: 0 }, { active: 0 }])
      t.ok((meters[1]?.throttledMs ?? 0) > 0)
      t.same({ descriptors, resources }, { descriptors: before.descriptors, resources: before.resources })
    }
  )
}
