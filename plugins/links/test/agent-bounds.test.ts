// Bounds at a listener, in a pool and in the log.
import t from 'tap'
import { fakeClock } from '../../../kit/fake-clock.ts'
import { type LogLine, recordLog } from '../../../kit/record-log.ts'
import { rolesOf } from '../agent/direction.ts'
import { openLinkEvents } from '../agent/link-events.ts'
import { Pool } from '../agent/pool.ts'
import { SendWindow } from '../agent/send-window.ts'
import { HandshakePlaces, strangers } from '../agent/transport/handshake-places.ts'
import { KnownAddresses } from '../agent/transport/known-addresses.ts'
import type { LinkConnection } from '../agent/transport/link-connection.ts'
import { PingMeter } from '../agent/transport/ping-meter.ts'
import { WrongPins } from '../agent/transport/wrong-pins.ts'

t.test('beyond a bound of handshakes, the oldest of the network or of all goes', async t => {
  const places = new HandshakePlaces(strangers)
  const dropped: string[] = []
  const enter = (network: string, name: string): (() => void) =>
    places.enter(network, () => dropped.push(name))

  for (let at = 0; at < 17; at++) enter('192.0.2.1', `one ${at}`)
  t.same(dropped, ['one 0'])
  for (let at = 0; at < 241; at++) enter(`198.51.100.${at}`, `other ${at}`)
  t.same(dropped, ['one 0', 'one 1'])
  t.equal(places.size, 256)
})

t.test(
  '8 wrong pins silence a stranger for a minute; a known address gets 20 handshakes a second after 64',
  async t => {
    const clock = fakeClock()
    const pins = new WrongPins(clock)
    for (let at = 0; at < 7; at++) pins.add('192.0.2.1', false)
    t.ok(pins.mayBegin('192.0.2.1', false))
    pins.add('192.0.2.1', false)
    t.notOk(pins.mayBegin('192.0.2.1', false))
    t.ok(pins.mayBegin('192.0.2.2', false))
    await clock.advance(60_000)
    t.ok(pins.mayBegin('192.0.2.1', false))

    for (let at = 0; at < 64; at++) pins.add('192.0.2.3', true)
    const begun = Array.from({ length: 30 }, () => pins.mayBegin('192.0.2.3', true)).filter(Boolean)
    t.equal(begun.length, 20)
    await clock.advance(1_000)
    t.ok(pins.mayBegin('192.0.2.3', true))
  }
)

t.test('an address is known while a peer is there, and 10 minutes longer', async t => {
  const clock = fakeClock()
  const known = new KnownAddresses(clock)
  const close = known.opened('192.0.2.1')
  await clock.advance(3_600_000)
  t.ok(known.has('192.0.2.1'))
  close()
  await clock.advance(599_000)
  t.ok(known.has('192.0.2.1'))
  await clock.advance(2_000)
  t.notOk(known.has('192.0.2.1'))
})

/** A link connection for a pool alone. */
const connection = (): LinkConnection =>
  ({ isClosed: false, isReusable: true, close() {} }) as unknown as LinkConnection

t.test('a pool has two ready link connections, and grows with its use', async t => {
  const clock = fakeClock()
  const dials: number[] = []
  const pool = new Pool({
    clock,
    maxIdle: () => 64,
    openMs: () => 100,
    dial: count => void dials.push(count)
  })
  pool.open()
  t.same(dials, [2])
  pool.add(connection())
  pool.add(connection())

  const { signal } = new AbortController()
  const taken = await Promise.all([pool.take('ann', signal), pool.take('ann', signal)])
  t.ok(taken.every(one => typeof one !== 'string'))
  t.same(dials, [2, 4])
  for (let at = 0; at < 4; at++) pool.add(connection())
  for (const one of taken) if (typeof one !== 'string') pool.giveBack(one)
  t.equal(pool.idle, 6)

  await clock.advance(5 * 60_000)
  pool.trim()
  t.equal(pool.idle, 2, 'those that were not used for 5 min are closed')
})

t.test(
  'a request without a link connection fails after 3 s, beyond 1,024 at once, and with the link',
  async t => {
    const clock = fakeClock()
    const pool = new Pool({ clock, maxIdle: () => 64, openMs: () => 100, dial() {} })
    const { signal } = new AbortController()
    const early = pool.take('ann', signal)
    await clock.advance(3_000)
    t.equal(await early, 'link_down', 'the link does not come up')
    pool.open()
    const late = pool.take('ann', signal)
    await clock.advance(3_000)
    t.equal(await late, 'link_exhausted')

    const waiting = Array.from({ length: 1_024 }, () => pool.take('ann', signal))
    t.equal(await pool.take('ann', signal), 'link_exhausted')
    pool.close()
    t.same(new Set(await Promise.all(waiting)), new Set(['link_down']))
    t.equal(await pool.take('ann', signal), 'link_down', 'at once')
  }
)

t.test('one owner cannot use up the waiting requests of a link, and owners take turns', async t => {
  const pool = new Pool({ clock: fakeClock(), maxIdle: () => 64, openMs: () => 100, dial() {} })
  const { signal } = new AbortController()
  pool.open()
  const flood = Array.from({ length: 1_024 }, () => pool.take('ann', signal))
  const bob = pool.take('bob', signal)
  t.equal(await flood.at(-1), 'link_exhausted')

  pool.add(connection())
  pool.add(connection())
  t.equal(typeof (await bob), 'object')
  t.equal(typeof (await flood[0]), 'object')
  t.equal(typeof (await Promise.race([flood[1], 'waits'])), 'string')
})

t.test('the window of unacknowledged bytes grows on a long path, not for a slow target', async t => {
  const clock = fakeClock()
  const fill = (window: SendWindow): void => {
    while (!window.isFull) window.sent(16_384)
  }
  const far = new SendWindow(clock, () => 200)
  fill(far)
  await clock.advance(250)
  t.ok(far.acknowledge(256 * 1024))
  fill(far)
  t.ok(far.acknowledge(512 * 1024))
  t.notOk(far.isFull, 'twice as many bytes')

  const slow = new SendWindow(clock, () => 1)
  fill(slow)
  await clock.advance(1_000)
  t.ok(slow.acknowledge(100))
  fill(slow)
  t.ok(slow.acknowledge(200))
  t.notOk(slow.acknowledge(100), 'totals do not fall')
  t.notOk(slow.acknowledge(10_000_000), 'only sent bytes')
})

t.test('repeated lines of an event and peer fold into one a minute', async t => {
  const clock = fakeClock()
  const lines: LogLine[] = []
  const events = openLinkEvents(recordLog(lines), clock)
  const write = (peer: string): void => events.write('link.down', peer, { message: 'down', fields: { peer } })

  for (let at = 0; at < 5; at++) write('a')
  write('b')
  t.equal(lines.length, 2)
  await clock.advance(60_000)
  t.match(lines.slice(2), [{ event: 'link.down', fields: { peer: 'a', suppressed: 3 } }])
  await clock.advance(120_000)
  t.equal(lines.length, 3)
})

t.test('pings give round trips and losses of the last minute', async t => {
  const clock = fakeClock()
  const meter = new PingMeter(clock)
  t.equal(meter.roundTrips(), null)
  for (let at = 1; at <= 4; at++) {
    const number = meter.send()
    await clock.advance(10 * at)
    if (at < 4) t.ok(meter.answered(number))
  }
  await clock.advance(3_000)

  t.same(meter.roundTrips(), { last: 30, p50: 20, p99: 30 })
  t.equal(meter.lossPercent(), 25)
  t.notOk(meter.answered(1), 'each once')
  await clock.advance(60_000)
  t.same([meter.roundTrips(), meter.lossPercent()], [null, null])
})

t.test('the direction says who dials at first', async t => {
  const link = (direction: 'auto' | 'reverse' | 'direct', near: boolean, far: boolean) =>
    rolesOf({
      id: '',
      side: 'near',
      peer_id: '',
      peer_name: '',
      peer_pins: [],
      direction,
      peer_hosts: [],
      max_idle: 2,
      dead_secs: 10,
      lease_hours: 0,
      ...(near && { listen_port: 1 }),
      ...(far && { peer_port: 1 })
    })

  t.same(link('auto', true, true), { primary: 'listener', hasFallback: true })
  t.same(link('auto', false, true), { primary: 'dialer', hasFallback: false })
  t.same(link('auto', false, false), { primary: null, hasFallback: false })
  t.same(link('reverse', false, true), { primary: null, hasFallback: false })
  t.same(link('direct', true, true), { primary: 'dialer', hasFallback: false })
  t.same(link('direct', true, false), { primary: null, hasFallback: false })
})
