// At full speed, through every way of forwarding. The same at its full size: test/bench/quota-overshoot.ts.
import t from 'tap'
import { allowed, exhaust, race } from '../../../test/bench/overshoot/measure.ts'
import { kinds, openStage, type Way, ways } from '../../../test/bench/overshoot/stage.ts'

const MiB = 1024 * 1024
const connections = 5

t.test('a quota lets at most 64 KiB a connection through beyond its size', { timeout: 240_000 }, async t => {
  const wanted = Object.keys(ways) as Way[]
  const stage = await openStage(t, wanted)
  const cells = []
  for (const way of wanted)
    for (const kind of kinds) {
      const place = await stage.place(way, kind, `user-${cells.length}`)
      cells.push({ what: `${way}, ${kind}`, over: await exhaust(place, connections, 2 * MiB) })
    }

  for (const { what, over } of cells) {
    const booked = await over.booked()
    t.ok(booked >= 0 && booked <= connections * allowed, `${what}: ${booked} bytes over by the books`)
    t.ok(over.received <= booked, `${what}: ${over.received} at the receivers`)
  }
})

t.test('changes of a quota under traffic lose no byte and grant none', { timeout: 240_000 }, async t => {
  const stage = await openStage(t, ['native, splice'])
  const place = await stage.place('native, splice', 'plain', 'ann')

  const { over, lost } = await race(place, 30, connections)

  t.equal(lost, 0)
  t.ok(over >= 0 && over <= connections * allowed, `${over} bytes over`)
})
