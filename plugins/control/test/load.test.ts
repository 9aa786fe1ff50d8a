// Many agents that reconnect at once, and one that reconnects repeatedly. For the full number of reconnects:
//   SLUICE_RECONNECTS=10000 node plugins/control/test/load.test.ts
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import t, { type Test } from 'tap'
import { type Clock, systemClock } from '../../../kernel/base/clock.ts'
import type { ObjectKind } from '../../../kernel/control/managed-objects.ts'
import type { Database } from '../../../kernel/store/open.ts'
import { controlFixture } from './fixture.ts'

const agents = 100
const objects = 10
const reconnects = Number(process.env['SLUICE_RECONNECTS'] ?? 200)

setFlagsFromString('--expose-gc')
const collectGarbage = runInNewContext('gc') as () => void // added by the flag
const heapMiB = (): number => {
  collectGarbage()
  return process.memoryUsage().heapUsed / 1024 / 1024
}

/** Returns the system clock with a count of its active timers. */
function countingClock(): Clock & { readonly timers: () => number } {
  let timers = 0
  const counted = (set: () => () => void | Promise<void>) => {
    timers += 1
    const cancel = set()
    let isActive = true
    return () => {
      if (isActive) timers -= 1
      isActive = false
      return cancel()
    }
  }
  return {
    ...systemClock,
    after: (ms, work) => {
      const cancel = counted(() =>
        systemClock.after(ms, () => {
          cancel()
          work()
        })
      )
      return cancel
    },
    every: (ms, work) => counted(() => systemClock.every(ms, work)),
    timers: () => timers
  }
}

t.setTimeout(60_000 + reconnects * 50)

t.test(`${agents} agents with ${objects} objects each reconnect at once`, async t => {
  const { enroll, put, connectAgent, waitForResults, log } = await controlFixture(t)
  const ids = Array.from({ length: objects }, (_, i) => `thing-${i}`)
  const fleet: { token: string; localAddress: string }[] = []
  for (let i = 0; i < agents; i++) {
    const { clientId, token } = await enroll(`edge-${i}`)
    await put(clientId, ...ids)
    fleet.push({ token, localAddress: `127.0.4.${1 + i}` })
  }
  const connectAll = (script: object) =>
    Promise.all(fleet.map(({ token, localAddress }) => connectAgent(token, { localAddress, ...script })))

  let before = performance.now()
  const first = await connectAll({})
  await waitForResults(agents * objects)
  const firstMs = performance.now() - before
  const { generation } = first[0]!.welcome
  await Promise.all(first.map(({ close }) => close()))

  const inventory = ids.map((id, i) => ({ kind: 'thing', id, revision: i + 1 }))
  before = performance.now()
  const again = await connectAll({ inventory, generation })
  await waitForResults(2 * agents * objects)
  const againMs = performance.now() - before

  const bytes = Math.max(...again.map(({ bytesReceived }) => bytesReceived()))
  t.comment(
    `all to send: ${firstMs.toFixed()} ms; nothing to send: ${againMs.toFixed()} ms, ${bytes} bytes each`
  )
  t.ok(bytes < 10 * 1024, 'an unchanged agent costs under 10 KiB')
  t.ok(again.every(({ received }) => received.length === 0))
  t.same(
    log.filter(({ level }) => level === 'error'),
    []
  )
})

t.test(
  `${agents} agents that return and leave at once cost few changes of the store, and no handlers`,
  async t => {
    let changes = 0
    const wrapStore = (opened: Database): Database => ({
      ...opened,
      change(work) {
        changes += 1
        return opened.change(work)
      }
    })
    const { enroll, connectAgent, control, handlersBound } = await controlFixture(t, { wrapStore })
    const tokens = await Promise.all(Array.from({ length: agents }, (_, i) => enroll(`edge-${i}`)))
    changes = 0

    const fleet = await Promise.all(
      tokens.map(({ token }, i) => connectAgent(token, { localAddress: `127.0.5.${1 + i}` }))
    )
    const joined = changes
    await control.close()

    t.comment(`${joined} changes to let them in, ${changes - joined} when they left`)
    t.ok(joined < agents, `${joined} changes`)
    t.ok(changes - joined < agents / 4, `${changes - joined} changes`)
    t.equal(handlersBound(), 0, 'handlers are bound when a message comes')
    t.ok(fleet.every(({ endCode }) => endCode() === 'shutting_down'))
  }
)

/** A fleet with one thing each, which `changeAll` changes for all at once: resolves when all have answered. */
async function openFleet(t: Test, kind: Partial<ObjectKind>) {
  let reads = 0
  const wrapStore = (opened: Database): Database => ({
    ...opened,
    read(work) {
      reads += 1
      return opened.read(work)
    }
  })
  const fixture = await controlFixture(t, { wrapStore, kinds: [kind] })
  const { enroll, connectAgent, control, store, texts, results, waitForResults } = fixture
  const clients = await Promise.all(Array.from({ length: agents }, (_, i) => enroll(`edge-${i}`)))
  const objects = clients.map(({ clientId }) => ({ clientId, kind: 'thing', id: clientId }))
  for (const { id } of objects) texts.set(id, `text of ${id}`)
  const connected = await Promise.all(
    clients.map(({ token }, i) => connectAgent(token, { localAddress: `127.0.6.${1 + i}` }))
  )
  const changeAll = async (): Promise<number> => {
    const before = results.length
    await store.change(em => control.objects.put(em, ...objects))
    reads = 0
    for (const { clientId } of objects) control.objects.wake(clientId)
    await waitForResults(before + agents)
    return reads
  }
  await changeAll() // all have joined
  return { ...fixture, connected, changeAll }
}

t.test(`a change for ${agents} agents is read in batches, and each agent gets its own`, async t => {
  let loads = 0
  const load: ObjectKind['load'] = async rows => {
    loads += 1
    return new Map(rows.map(({ id, revision }) => [id, { id, revision, text: `for ${id}` }]))
  }
  const { connected, results, changeAll } = await openFleet(t, { load, isLoadedTogether: true })
  loads = 0

  const reads = await changeAll()

  t.comment(`${reads} reads, ${loads} of them of bodies`)
  t.ok(loads <= agents / 10, `${loads} loads`)
  t.ok(reads <= agents / 5, `${reads} reads`)
  t.equal(new Set(results.slice(-agents)).size, agents)
  for (const { received } of connected) t.equal(received.at(-1)?.body['revision'], 2)
  t.equal(new Set(connected.map(({ received }) => received.at(-1)?.body['text'])).size, agents)
})

t.test('bodies that fail to load for one client are loaded for the others', async t => {
  let broken: string | null = null
  const load: ObjectKind['load'] = async rows => {
    if (rows.some(({ id }) => id === broken)) throw new Error('unreadable')
    return new Map(rows.map(({ id, revision }) => [id, { id, revision, text: id }]))
  }
  const { connected, control, store, results, waitForResults, events } = await openFleet(t, {
    load,
    isLoadedTogether: true
  })
  const objects = connected.map(({ received }) => String(received.at(-1)?.body['id']))
  broken = objects[0] ?? ''
  const before = results.length
  await store.change(em =>
    control.objects.put(em, ...objects.map(id => ({ clientId: id, kind: 'thing', id })))
  )
  for (const clientId of objects) control.objects.wake(clientId)
  await waitForResults(before + agents - 1)

  t.same(
    events('object.send_failed').map(({ fields }) => fields['client_id']),
    [broken]
  )
})

t.test(`${reconnects} reconnects of one agent leave nothing behind`, async t => {
  const clock = countingClock()
  const { enroll, put, connectAgent, control, events, log, results } = await controlFixture(t, { clock })
  const { clientId, token } = await enroll()
  await put(clientId, 'a')
  const inventory = [{ kind: 'thing', id: 'a', revision: 1 }]
  const first = await connectAgent(token)
  const { generation } = first.welcome
  const reconnect = async (times: number): Promise<void> => {
    for (let i = 0; i < times; i++) {
      const agent = await connectAgent(token, { inventory, generation }, { teardown: () => {} })
      if (i % 2 === 0) await agent.close() // the other half is replaced by the next
    }
    while (control.peers.all().some(({ ended }) => ended.aborted)) await new Promise(setImmediate)
    log.length = 0
    results.length = 0
  }
  await reconnect(50)
  await first.close()
  const [timers, heap] = [clock.timers(), heapMiB()]

  await reconnect(reconnects)
  const after = heapMiB()

  t.comment(`timers ${timers} -> ${clock.timers()}, heap ${heap.toFixed(1)} -> ${after.toFixed(1)} MiB`)
  t.ok(clock.timers() <= timers + 2, `${timers} timers before, ${clock.timers()} after`)
  t.ok(control.peers.all().length <= 1)
  t.ok(after - heap < 5, 'less than 5 MiB more')
  t.same(events('client.instance_conflict'), [])
})
