// Frames alone: any split of the bytes gives the same frames, and no bytes crash the reader.
import { randomBytes, randomInt } from 'node:crypto'
import t from 'tap'
import * as bodies from '../agent/transport/frame-bodies.ts'
import {
  FrameReader,
  type FrameType,
  flag,
  frameHeader,
  frameType,
  ProtocolError
} from '../agent/transport/frames.ts'

const ruleId = '01KCD3F0P7Q4Y6Z8V1T5S9R2NA'

const frame = (type: FrameType, payload: Buffer = Buffer.alloc(0), flags = 0, number = 1): Buffer =>
  Buffer.concat([frameHeader(type, flags, payload.length, number), payload])

const samples = (): Buffer[] => [
  frame(frameType.hello, bodies.encodeHello({ linkId: ruleId, kind: 'data' }), 0, 0),
  frame(frameType.open, bodies.encodeOpen({ ruleId, key: 7, offset: 3, budgetMs: 4000 }), flag.probe),
  frame(frameType.opened, bodies.encodeOpened({ address: '::1', port: 443, dnsMs: 1.5, connectMs: 0.25 })),
  frame(frameType.refused, bodies.encodeReason('rule_unknown'), flag.refusal),
  frame(frameType.data, randomBytes(16_376)),
  frame(frameType.ack, bodies.encodeCount(2 ** 40)),
  frame(frameType.end),
  frame(frameType.reset),
  frame(frameType.ping, bodies.encodeCount(5), flag.answer, 0),
  frame(frameType.dial, bodies.encodeDial(128), 0, 0)
]

t.test('frames are the same however the bytes are split', async t => {
  const bytes = Buffer.concat(samples())
  const whole = new FrameReader().read(bytes)
  t.equal(whole.length, samples().length)

  for (const most of [1, 3, 7, 100, 5_000, 20_000]) {
    const reader = new FrameReader()
    const found = []
    for (let at = 0; at < bytes.length; ) {
      const next = at + randomInt(1, most + 1)
      found.push(...reader.read(bytes.subarray(at, next)))
      at = next
    }
    t.same(found, whole, `pieces of up to ${most} bytes`)
  }
})

t.test('bodies are read as they were written', async t => {
  t.same(bodies.decodeHello(bodies.encodeHello({ linkId: ruleId, kind: 'control' })), {
    linkId: ruleId,
    kind: 'control'
  })
  const open = { ruleId, key: 0xffff_ffff, offset: 65_534, budgetMs: 4000 }
  t.same(bodies.decodeOpen(bodies.encodeOpen(open)), open)
  const opened = { address: '2001:db8::1', port: 65_535, dnsMs: 12.5, connectMs: 0.125 }
  t.same(bodies.decodeOpened(bodies.encodeOpened(opened)), opened)
  t.same(bodies.decodeTest(bodies.encodeTest({ bytes: 2 ** 26, ms: 5_000 })), { bytes: 2 ** 26, ms: 5_000 })
  t.equal(bodies.decodeReason(bodies.encodeReason('Not a code')), 'failed')
})

t.test('a type, flag or length that no peer may send is an error before its payload arrives', async t => {
  for (const header of [
    frameHeader(0 as FrameType, 0, 0, 1),
    frameHeader(11 as FrameType, 0, 0, 1),
    frameHeader(frameType.data, 1, 10, 1),
    frameHeader(frameType.data, 0, 0, 1),
    frameHeader(frameType.data, 0, 16_377, 1),
    frameHeader(frameType.open, 0, 1_017, 1),
    frameHeader(frameType.ack, 0, 7, 1),
    frameHeader(frameType.end, 0, 1, 1)
  ])
    t.throws(() => new FrameReader().read(header), ProtocolError, header.toString('hex'))
})

t.test('100,000 mutated frames are frames or protocol errors', async t => {
  const decoders = [
    bodies.decodeHello,
    bodies.decodeOpen,
    bodies.decodeOpened,
    bodies.decodeReason,
    bodies.decodeTest
  ]
  const all = samples().filter(({ length }) => length < 1_000)
  let errors = 0
  for (let at = 0; at < 100_000; at++) {
    const bytes = Buffer.from(all[at % all.length] ?? [])
    for (let count = randomInt(1, 4); count > 0; count--) bytes[randomInt(bytes.length)] = randomInt(256)
    try {
      for (const { payload } of new FrameReader().read(bytes)) decoders[at % decoders.length]?.(payload)
    } catch (error) {
      if (!(error instanceof ProtocolError)) throw error
      errors += 1
    }
  }
  t.ok(errors > 1_000, `${errors} errors`)
})
