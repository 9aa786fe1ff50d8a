import t from 'tap'
import { encodeFrame, frameLimit, frameParser, heartbeat } from '../../kernel/wire/frame.ts'

const bodies = [0, 1, 3, 4, 5, 255, 256, 4096, 70_000].map((size, seed) =>
  Buffer.from(Array.from({ length: size }, (_, i) => (i * 31 + seed) % 256))
)
const bytes = Buffer.concat(bodies.map(encodeFrame))

t.test('frames are complete, however the bytes are split', async t => {
  for (const step of [1, 2, 3, 4, 5, 7, 64, 4099, bytes.length]) {
    const received: Buffer[] = []
    const push = frameParser(
      () => frameLimit,
      body => received.push(Buffer.from(body))
    )

    for (let at = 0; at < bytes.length; at += step) push(bytes.subarray(at, at + step))

    t.same(received, bodies, `in pieces of ${step}`)
  }
})

t.test('frames are complete with random splits', async t => {
  for (let round = 0; round < 50; round++) {
    const received: Buffer[] = []
    const push = frameParser(
      () => frameLimit,
      body => received.push(Buffer.from(body))
    )

    for (let at = 0; at < bytes.length; ) {
      const step = 1 + Math.floor(Math.random() ** 4 * 9000)
      push(bytes.subarray(at, at + step))
      at += step
    }

    t.same(received, bodies)
  }
})

t.test('a frame above the limit is refused at its header, before its body', async t => {
  const push = frameParser(
    () => 10,
    () => t.fail('no frame is complete')
  )

  t.throws(() => push(Buffer.from([0, 0, 0, 11])), { code: 'wire.oversized' })
})

t.test('the limit may change between two frames', async t => {
  let limit = 2
  const lengths: number[] = []
  const push = frameParser(
    () => limit,
    body => {
      lengths.push(body.length)
      limit = 100
    }
  )

  push(Buffer.concat([encodeFrame(new Uint8Array(2)), encodeFrame(new Uint8Array(100))]))

  t.same(lengths, [2, 100])
})

t.test('a body over the limit is not sent', async t => {
  t.throws(() => encodeFrame(new Uint8Array(frameLimit + 1)), { code: 'wire.oversized' })
  t.equal(encodeFrame(new Uint8Array(frameLimit)).length, frameLimit + 4)
})

t.test('a heartbeat is an empty frame', async t => {
  t.same(heartbeat, encodeFrame(new Uint8Array()))
})
