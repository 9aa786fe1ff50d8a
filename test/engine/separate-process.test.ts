// Limits and leaks that show only when an engine has its own process.
import type { ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { spawnChild } from '../support/child-process.ts'
import { freePort } from '../support/ports.ts'
import { echo, endOf, exchange, openCaller, openTarget, openUnresponsiveTarget } from './engine-fixture.ts'
import { nativeUnderTest } from './native-under-test.ts'
import type { EngineState } from './separate-process.ts'

const file = join(import.meta.dirname, 'separate-process.ts')
const descriptorLimit = 160
const attemptMs = 3_000 // of a silent address, while others are dialed each 250 ms

async function openInProcess(
  t: Test,
  engine: string,
  { limit = descriptorLimit, bobsPort = 0, listen = 0, annsTarget = 0, named = 0, probed = 0 } = {}
): Promise<{ child: ChildProcess; port: number }> {
  const port = listen || (await freePort())
  const target = await openTarget(t, echo)
  const command = `ulimit -n ${limit} && exec "$0" "$@"`
  const args = [file, port, annsTarget || target, engine, bobsPort, target, named, probed].map(String)
  const child = spawnChild('sh', ['-c', command, process.execPath, ...args], {
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

/** Calls bob until `count` of his callers are served; they stay open. Returns how one that is not served ended. */
async function callBob(t: Test, port: number, count: number): Promise<string> {
  for (let served = 0; served < count; served++) {
    const caller = await openCaller(t, port)
    const outcome = await Promise.race([exchange(caller, 'hello').catch(() => 'reset'), endOf(caller)])
    if (outcome !== 'hello') return outcome
  }
  return 'served'
}

const engines = nativeUnderTest().ok ? ['portable', 'native'] : ['portable']
for (const engine of engines) {
  // A connection needs two descriptors: of two adjacent limits, one leaves an odd descriptor.
  for (const limit of [descriptorLimit, descriptorLimit + 1])
    t.test(
      `${engine}: before ${limit} descriptors run out, callers are refused, and accepted again later`,
      async t => {
        const { child, port } = await openInProcess(t, engine, { limit })

        const callers = await Promise.all(Array.from({ length: 80 }, () => openCaller(t, port)))
        const outcomes = await Promise.all(
          callers.map(caller => Promise.race([exchange(caller, 'hello').catch(() => 'reset'), endOf(caller)]))
        )

        const served = outcomes.filter(outcome => outcome === 'hello').length
        const { counters, descriptors } = await stateOf(child)
        t.ok(served > 0 && served < 80, `${served} are served`)
        t.match(counters, { connectionsTotal: served, rejected: { descriptors: 80 - served } })
        t.ok(descriptors <= limit - 64 + 1, `${descriptors} are in use`) // one of them reads /proc/self/fd
        for (const caller of callers) caller.destroy()
        while ((await stateOf(child)).counters?.ports[0]?.active !== 0);
        t.equal(await exchange(await openCaller(t, port), 'again'), 'again')
      }
    )

  t.test(`${engine}: an owner that holds most descriptors gives them back to another one`, async t => {
    const bobsPort = await freePort()
    const { child, port } = await openInProcess(t, engine, { limit: 400, bobsPort })
    const exchangeAll = async (to: number, count: number) => {
      const callers = await Promise.all(Array.from({ length: count }, () => openCaller(t, to)))
      const outcomes = await Promise.all(
        callers.map(caller => Promise.race([exchange(caller, 'hello').catch(() => 'reset'), endOf(caller)]))
      )
      return outcomes.filter(outcome => outcome === 'hello').length
    }

    const served = await exchangeAll(port, 150)
    const crowded = await stateOf(child)
    let bobs = 0
    for (let i = 0; i < 6; i++) bobs += await exchangeAll(bobsPort, 10)
    const { rules, descriptors } = await stateOf(child)

    t.ok(served > 100 && served < 150, `${served} of ann are served`)
    t.match(crowded.rules, [{ rejected: { owner_share: 150 - served } }, {}])
    t.equal(bobs, 60, 'all of bob are served')
    t.strictSame(rules[1]?.rejected, {})
    t.ok((rules[0]?.ports[0]?.active ?? 0) < served, 'connections of ann have ended')
    t.strictSame(Object.keys(rules[0]?.rejected ?? {}), ['owner_share'])
    t.ok(descriptors <= 400 - 64 + 1, `${descriptors} are in use`)
  })

  t.test(
    `${engine}: dials of one owner at many silent addresses leave descriptors to another one`,
    async t => {
      const bobsPort = await freePort()
      const annsTarget = await openUnresponsiveTarget(t, '0.0.0.0')
      const { child, port } = await openInProcess(t, engine, { limit: 400, bobsPort, annsTarget, named: 16 })

      await Promise.all(Array.from({ length: 60 }, () => openCaller(t, port)))
      const begunAt = performance.now()
      let highest = 0
      while (performance.now() - begunAt < attemptMs)
        highest = Math.max(highest, (await stateOf(child)).descriptors)
      const bobs = await callBob(t, bobsPort, 60)
      const { rules, descriptors } = await stateOf(child)

      t.ok(Math.max(highest, descriptors) <= 400 - 64 + 1, `${highest}, then ${descriptors} are in use`)
      t.equal(bobs, 'served')
      t.strictSame(rules[1]?.rejected, {})
      t.ok(rules[0]?.ports[0]?.active, 'some of ann are still dialed')
    }
  )

  t.test(`${engine}: health checks of one owner leave descriptors to another one`, async t => {
    const bobsPort = await freePort()
    const annsTarget = await openUnresponsiveTarget(t, '0.0.0.0')
    const { child } = await openInProcess(t, engine, { limit: 400, bobsPort, annsTarget, probed: 400 })

    const bobs = await callBob(t, bobsPort, 60)
    const { rules, descriptors } = await stateOf(child)

    t.ok(descriptors <= 400 - 64 + 1, `${descriptors} are in use`)
    t.equal(bobs, 'served')
    t.strictSame(rules[1]?.rejected, {})
  })

  t.test(`${engine}: the agent's own dials for one owner leave descriptors to another one`, async t => {
    // One of two adjacent limits leaves an odd number of descriptors for two owners.
    for (const limit of [400, 401]) {
      const bobsPort = await freePort()
      const { child } = await openInProcess(t, engine, { limit, bobsPort })
      const ask = async (command: string) => {
        child.send(command)
        const [answer] = await once(child, 'message')
        return answer
      }
      const reserve = (): Promise<number> => ask('reserve')

      const reserved = await reserve()
      t.ok(reserved > 100 && reserved < 200, `${reserved} of ${limit}`)
      t.equal(await callBob(t, bobsPort, 60), 'served')
      t.equal(await reserve(), 0)

      child.send('release')
      t.equal(await reserve(), 1)

      await ask('close')
      await ask('open')
      for (let i = 0; i < reserved; i++) child.send('release')
      t.equal(await reserve(), reserved, 'no more after the rules of the owner have ended in between')
    }
  })

  t.test(
    `${engine}: the agent's own dials have descriptors while all rules of the owner are closed`,
    async t => {
      const { child } = await openInProcess(t, engine, { limit: 400 })
      const ask = async (command: string) => {
        child.send(command)
        const [answer] = await once(child, 'message')
        return answer
      }

      await ask('close')
      const reserved: number = await ask('reserve')
      t.ok(reserved > 100, `${reserved} descriptors`)
      for (let i = 0; i < reserved; i++) child.send('release')
      t.equal(await ask('reserve'), reserved)
    }
  )

  t.test(`${engine}: at most 256 health checks of an owner are in progress`, async t => {
    const annsTarget = await openUnresponsiveTarget(t, '0.0.0.0')
    const idle = await stateOf((await openInProcess(t, engine, { limit: 2000 })).child)
    const { child } = await openInProcess(t, engine, { limit: 2000, annsTarget, probed: 400 })

    const probes = async () => (await stateOf(child)).descriptors - idle.descriptors

    while ((await probes()) < 250);
    const highest = Math.max(await probes(), await probes(), await probes())
    t.ok(highest <= 256 + 10, `${highest} more descriptors than without probes`)
  })

  t.test(`${engine}: a loop over two engines leaves descriptors to other owners`, async t => {
    const [first, second, ...bobsPorts] = await Promise.all([1, 2, 3, 4].map(() => freePort()))
    const edges = [
      await openInProcess(t, engine, { listen: first, annsTarget: second, bobsPort: bobsPorts[0] }),
      await openInProcess(t, engine, { listen: second, annsTarget: first, bobsPort: bobsPorts[1] })
    ]

    const looping = await openCaller(t, first ?? 0)
    const ends = endOf(looping)
    for (let round = 0; round < 5; round++)
      for (const port of bobsPorts) t.equal(await exchange(await openCaller(t, port), 'hello'), 'hello')

    t.equal(await ends, 'reset', 'the refusal of the last hop ends the loop')
    const states = await Promise.all(edges.map(({ child }) => stateOf(child)))
    t.ok(states.some(({ counters }) => counters?.rejected['owner_share']))
    for (const { rules } of states) t.strictSame(rules[1]?.rejected, {})
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
