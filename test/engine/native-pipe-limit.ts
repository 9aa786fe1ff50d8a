// Stalls more transfers than the preloaded library allows pipes for, and makes two long transfers: beside them, and after
// them. For native-pipe-limit.test.ts.
import { randomBytes } from 'node:crypto'
import t from 'tap'
import { collect, engineFixture, openCaller, openTarget, ruleTo, sha256, until } from './engine-fixture.ts'
import { nativeUnderTest } from './native-under-test.ts'

const native = nativeUnderTest()
const stalledCallers = 12

t.test('transfers beside and after stalled ones', async t => {
  if (!native.ok) throw new Error(native.reason)
  const { engine } = engineFixture(t, options => native.openEngine({ ...options, threads: 1 }))
  const received: Promise<Buffer>[] = []
  const reading = await ruleTo([await openTarget(t, socket => void received.push(collect(socket)))])
  const stalled = await ruleTo([await openTarget(t, socket => void socket.pause())])
  for (const rule of [reading, stalled]) await engine.open(rule)
  const bytes = randomBytes(32_000_000)
  const stalledBytes = () => engine.sample().rules[1]?.ports[0]?.bytesIn ?? 0

  const callers = await Promise.all(Array.from({ length: stalledCallers }, () => openCaller(t, stalled.from)))
  for (const caller of callers) caller.write(bytes)
  await until(isStill(stalledBytes))
  const transfer = async () => (await openCaller(t, reading.from)).end(bytes)
  await transfer()
  await until(() => received.length === 1)
  t.equal(sha256(await collected(0)), sha256(bytes))

  for (const caller of callers) caller.resetAndDestroy()
  await until(() => engine.sample().rules[1]?.ports[0]?.active === 0)
  await transfer()
  await until(() => received.length === 2)
  t.equal(sha256(await collected(1)), sha256(bytes))
  process.send?.({ stalledBytes: stalledBytes() })
  await engine.stop()

  function collected(index: number): Promise<Buffer> {
    const found = received[index]
    if (!found) throw new RangeError(`transfer ${index} has not begun`)
    return found
  }
})

/** True once the count is above 0 and equal in ten consecutive calls. */
function isStill(count: () => number): () => boolean {
  let last = 0
  let equal = 0
  return () => {
    const now = count()
    equal = now > 0 && now === last ? equal + 1 : 0
    last = now
    return equal >= 10
  }
}
