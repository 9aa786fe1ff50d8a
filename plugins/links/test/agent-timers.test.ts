// Links while time passes: a silent path, the lease, and reports to the server.
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import type { ControlStream } from '../../../agent/plugin.ts'
import { type FakeClock, fakeClock } from '../../../kit/fake-clock.ts'
import { recordLog } from '../../../kit/record-log.ts'
import { breakableLink } from '../../../test/support/breakable-link.ts'
import { Lease } from '../agent/lease.ts'
import { StatusReporter } from '../agent/status-reporter.ts'
import type { LinkStatus } from '../wire.ts'
import {
  type Client,
  dial,
  echo,
  linkOf,
  openCaller,
  openClient,
  openTarget,
  setLink,
  setPath
} from './agent-world.ts'

/** Lets the near client dial: attempts wait for the clock, connections for the network. */
async function untilUp(client: Client, id: string, clock: FakeClock): Promise<void> {
  await clock.advance(0)
  await client.until(() => linkOf(client, id).state === 'up')
}

/** A link through a path that can go silent, on a clock that only the test moves. */
async function openSilent(t: Test) {
  const clock = fakeClock()
  const near = await openClient(t, clock)
  const far = await openClient(t, clock)
  const path = await breakableLink(t, () => far.port)
  const id = setLink(near, far, { direction: 'direct', farPort: path.port })
  await untilUp(near, id, clock)
  const ruleId = setPath([near, far], await openTarget(t, echo))
  await near.until(() => linkOf(near, id).idleCount === 2)
  return { clock, near, far, path, id, ruleId }
}

t.test(
  'a silent path is down after 9 s: requests fail at once, live connections wait for link_dead_secs',
  async t => {
    const { clock, near, far, path, id, ruleId } = await openSilent(t)
    const caller = await openCaller(t, near, far, ruleId)
    let isReset = false
    const reset = new Promise<void>(resolve => {
      caller.once('error', () => {
        isReset = true
        resolve()
      })
    })
    await near.until(() => linkOf(near, id).meter.roundTrips() !== null)

    path.silence()
    const waiting = dial(near, far, ruleId)
    await clock.advance(3_000)
    t.equal(linkOf(near, id).state, 'up')
    await clock.advance(9_000)
    t.same([linkOf(near, id).state, linkOf(near, id).reason], ['down', 'timeout'])
    t.match(await dial(near, far, ruleId), { reason: 'link_down', isRefusal: true })
    t.match(await waiting, { isRefusal: Boolean })
    t.equal(linkOf(near, id).openCount, 1, 'the live connection')
    t.notOk(isReset)

    await clock.advance(11_000)
    await reset
    t.equal(linkOf(near, id).openCount, 0)
  }
)

t.test('pings that are answered keep a link up', async t => {
  const { clock, near, id } = await openSilent(t)
  const link = linkOf(near, id)

  for (let at = 0; at < 10; at++) {
    await clock.advance(3_000)
    await near.until(() => link.meter.lossPercent() === 0)
  }

  t.equal(link.state, 'up')
})

t.test('auto tries the other direction after 10 s, and keeps the first that is up', async t => {
  const clock = fakeClock()
  const near = await openClient(t, clock)
  const far = await openClient(t, clock)
  const nobody = await breakableLink(t, 1)
  nobody.cut()
  const id = setLink(near, far, { nearPort: nobody.port })

  while (linkOf(far, id).state !== 'down') {
    await clock.advance(1_000)
    await new Promise(setImmediate)
  }
  t.equal(linkOf(near, id).state, 'connecting')
  await clock.advance(10_000)
  await clock.advance(0)
  await near.until(() => linkOf(near, id).state === 'up')

  t.same([linkOf(near, id).role, linkOf(far, id).role], ['dialer', 'listener'])
})

t.test(
  'links with a lease close when the server has been silent for that long, and open at the next Welcome',
  async t => {
    const clock = fakeClock()
    const near = await openClient(t, clock)
    const far = await openClient(t, clock)
    const stateDir = mkdtempSync(join(tmpdir(), 'sluice-lease-'))
    t.teardown(() => rmSync(stateDir, { recursive: true }))
    const id = setLink(near, far, { direction: 'direct', more: { lease_hours: 1 } })
    await untilUp(near, id, clock)
    const open = (): Lease =>
      new Lease({ links: near.links, stateDir, time: clock, clock, log: recordLog([]) })
    const first = open()
    const stream = new AbortController()
    first.welcomed(stream.signal)
    for (let at = 0; at < 4; at++) await clock.advance(1_800_000) // a stream that stays open
    t.equal(near.links.all.length, 1)
    stream.abort()
    first.close()

    const second = open() // the time survives a restart
    clock.step(3_500_000)
    second.check()
    t.equal(near.links.all.length, 1)
    clock.step(200_000)
    second.check()
    t.equal(near.links.all.length, 0)
    second.welcomed(new AbortController().signal)
    t.equal(near.links.all.length, 1)
    second.close()
  }
)

t.test('changes are reported at once, and all links every 10 s', async t => {
  const clock = fakeClock()
  const near = await openClient(t, clock)
  const far = await openClient(t, clock)
  const reports: LinkStatus[][] = []
  const status = new StatusReporter({ links: () => near.links.all, clock, log: recordLog([]) })
  const stream = {
    signal: new AbortController().signal,
    async request(_: unknown, { links }: { readonly links: LinkStatus[] }) {
      reports.push(links)
      return {}
    }
  } as unknown as ControlStream
  const id = setLink(near, far, { direction: 'direct' })
  status.connect(stream)
  await clock.advance(50)
  await untilUp(near, id, clock)
  status.changed()
  status.changed()
  await clock.advance(50)
  t.match(reports.at(-1), [{ id, state: 'up', role: 'dialer', open: 0, bytes_in: 0 }])
  const { length } = reports

  await clock.advance(10_000)
  t.equal(reports.length, length + 1)
  status.close()
})
