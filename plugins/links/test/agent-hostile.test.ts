// Peers with valid keys that do not keep to the protocol.
import { randomInt } from 'node:crypto'
import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import { connect as connectTls, type TLSSocket } from 'node:tls'
import t, { type Test } from 'tap'
import { systemClock } from '../../../kernel/base/clock.ts'
import { encodeHello, encodeOpen } from '../agent/transport/frame-bodies.ts'
import {
  type Frame,
  FrameReader,
  type FrameType,
  flag,
  frameHeader,
  frameType
} from '../agent/transport/frames.ts'
import { linkContext } from '../agent/transport/tls-settings.ts'
import {
  type Client,
  dial,
  echo,
  linkOf,
  newTestId,
  openCaller,
  openClient,
  openTarget,
  readAll,
  setLink,
  setPath,
  untilUp
} from './agent-world.ts'

const frame = (type: FrameType, payload: Buffer = Buffer.alloc(0), flags = 0, number = 1): Buffer =>
  Buffer.concat([frameHeader(type, flags, payload.length, number), payload])

/** A link connection of a peer, which sends what it wants. */
interface RawPeer {
  readonly tls: TLSSocket
  readonly frames: Frame[]
  until(type: FrameType): Promise<Frame>
  readonly closed: Promise<void>
}

async function openRaw(t: Test, peer: Client, to: Client): Promise<RawPeer> {
  const socket = connect(to.port, '127.0.0.1')
  const tls = connectTls({
    socket,
    secureContext: linkContext(peer.certificate()),
    rejectUnauthorized: false,
    ALPNProtocols: ['svc-link/1']
  })
  const reader = new FrameReader()
  const frames: Frame[] = []
  const waiting: (() => void)[] = []
  const { promise: closed, resolve } = Promise.withResolvers<void>()
  t.teardown(() => socket.destroy())
  socket.on('error', () => {})
  tls.on('error', () => {})
  tls.on('close', () => resolve())
  tls.on('data', (bytes: Buffer) => {
    frames.push(...reader.read(bytes))
    for (const check of waiting) check()
  })
  await once(tls, 'secureConnect')
  return {
    tls,
    frames,
    closed,
    until(type) {
      const { promise, resolve } = Promise.withResolvers<Frame>()
      const check = (): void => {
        const found = frames.find(one => one.type === type)
        if (found) resolve(found)
      }
      waiting.push(check)
      check()
      return promise
    }
  }
}

/** Opens a link connection of the link and waits for the answer to HELLO. */
async function openHello(t: Test, peer: Client, to: Client, linkId: string): Promise<RawPeer> {
  const raw = await openRaw(t, peer, to)
  raw.tls.write(frame(frameType.hello, encodeHello({ linkId, kind: 'data' }), 0, 0))
  await raw.until(frameType.hello)
  return raw
}

async function openEcho(t: Test) {
  const near = await openClient(t)
  const far = await openClient(t)
  const id = setLink(near, far, { direction: 'direct' })
  await untilUp(near, id)
  const ruleId = setPath([near, far], await openTarget(t, echo))
  const checkLink = async (): Promise<void> => {
    const caller = await openCaller(t, near, far, ruleId)
    caller.end('works')
    t.equal((await readAll(caller)).toString(), 'works')
    t.equal(linkOf(near, id).state, 'up')
  }
  return { near, far, id, ruleId, checkLink }
}

const openOf = (ruleId: string, more: Partial<Parameters<typeof encodeOpen>[0]> = {}): Buffer =>
  encodeOpen({ ruleId, key: 7, offset: 0, budgetMs: 4000, ...more })

t.test('forged requests dial nothing', async t => {
  const { near, far, id, ruleId, checkLink } = await openEcho(t)
  const other = await openClient(t)
  let dials = 0
  const port = await openTarget(t, () => {
    dials += 1
  })
  const ofOther = setPath([other, far], port)
  const raw = await openHello(t, near, far, id)
  const forged = [
    openOf(ofOther), // of another entry
    openOf(newTestId()),
    openOf(ruleId, { key: 8 }),
    openOf(ruleId, { offset: 1 }),
    openOf(ruleId, { offset: 65_535 })
  ]

  for (let at = 0; at < 500; at++) {
    raw.frames.length = 0
    raw.tls.write(frame(frameType.open, forged[at % forged.length]!, 0, at + 1))
    const { payload, flags } = await raw.until(frameType.refused)
    if (payload.toString() !== 'rule_unknown' || flags !== flag.refusal) t.fail(payload.toString())
  }
  t.equal(dials, 0)
  await checkLink()
})

for (const [what, bytes] of [
  ['a wrong number', frame(frameType.open, openOf(newTestId()), 0, 2)],
  ['an unknown type', frame(200 as FrameType)],
  ['an answer that only the far client gives', frame(frameType.opened, Buffer.alloc(20))],
  ['bytes without a request', frame(frameType.data, Buffer.from('x'))],
  ['a ping on a data connection', frame(frameType.ping, Buffer.alloc(8), 0, 0)],
  ['a request of no rule', frame(frameType.open, Buffer.alloc(34))]
] as const)
  t.test(`${what} ends only that link connection`, async t => {
    const { near, far, id, checkLink } = await openEcho(t)
    const raw = await openHello(t, near, far, id)

    raw.tls.write(bytes)
    await raw.closed

    await far.until(() => far.lines.some(({ event }) => event === 'link.protocol'))
    await checkLink()
  })

t.test('a peer that names a link of another pair, or no link, is refused', async t => {
  const { near, far } = await openEcho(t)
  const other = await openClient(t)
  const ofOther = setLink(other, far, { direction: 'direct' })
  await untilUp(other, ofOther)

  for (const linkId of [ofOther, newTestId()]) {
    const raw = await openRaw(t, near, far)
    raw.tls.write(frame(frameType.hello, encodeHello({ linkId, kind: 'data' }), 0, 0))
    t.equal((await raw.until(frameType.refused)).payload.toString(), 'link_unknown')
    await raw.closed
  }
  t.equal(linkOf(other, ofOther).state, 'up')
})

t.test(
  'bytes after a forged end, and acknowledgements from the near client, end the link connection',
  async t => {
    const { near, far, id, ruleId, checkLink } = await openEcho(t)
    for (const last of [
      [frame(frameType.end), frame(frameType.data, Buffer.from('late'))],
      [frame(frameType.ack, Buffer.alloc(8))],
      [frame(frameType.open, openOf(ruleId), 0, 2)]
    ]) {
      const raw = await openHello(t, near, far, id)
      raw.tls.write(frame(frameType.open, openOf(ruleId)))
      await raw.until(frameType.opened)
      raw.tls.write(Buffer.concat(last))
      await raw.closed
    }
    await checkLink()
  }
)

t.test('300 mutated conversations end at most their own link connections', async t => {
  const { near, far, id, ruleId, checkLink } = await openEcho(t)
  const conversation = Buffer.concat([
    frame(frameType.hello, encodeHello({ linkId: id, kind: 'data' }), 0, 0),
    frame(frameType.open, openOf(ruleId)),
    frame(frameType.data, Buffer.from('some bytes')),
    frame(frameType.end)
  ])
  const sockets: Socket[] = []
  for (let at = 0; at < 300; at++) {
    const raw = await openRaw(t, near, far)
    const bytes = Buffer.from(conversation)
    for (let count = randomInt(1, 4); count > 0; count--) bytes[randomInt(bytes.length)] = randomInt(256)
    raw.tls.end(bytes)
    await raw.closed
    sockets.push(raw.tls)
  }
  await checkLink()
  await far.until(() => linkOf(far, id).openCount === 0)
})

t.test('a peer that invents a reason for each refusal fills no memory', async t => {
  let asked = 0
  const near = await openClient(t)
  const far = await openClient(t, systemClock, async () => ({
    failure: `reason_${++asked}`,
    isRefusal: true
  }))
  const id = setLink(near, far, { direction: 'direct' })
  await untilUp(near, id)
  const ruleId = setPath([near, far], 1)

  for (let n = 1; n <= 50; n++) t.match(await dial(near, far, ruleId), { reason: `reason_${n}` })

  const { opens } = linkOf(near, id)
  t.equal(opens.size, 32)
  t.equal(opens.get('other'), 19)
})
