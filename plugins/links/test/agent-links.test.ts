// The life of a link: who dials, keys, breaks, the pool, and a peer that does not keep to the protocol.
import { once } from 'node:events'
import { connect } from 'node:net'
import { connect as connectTls } from 'node:tls'
import t, { type Test } from 'tap'
import { breakableLink } from '../../../test/support/breakable-link.ts'
import {
  type Client,
  dial,
  echo,
  linkOf,
  openCaller,
  openClient,
  openStream,
  openTarget,
  readAll,
  setLink,
  setPath,
  untilUp
} from './agent-world.ts'

/** Two clients with a link that is up, and a rule with a target that echoes. */
async function openEcho(t: Test, direction: 'reverse' | 'direct' = 'direct', max_idle = 64) {
  const near = await openClient(t)
  const far = await openClient(t)
  const id = setLink(near, far, { direction, more: { max_idle } })
  await untilUp(near, id)
  const ruleId = setPath([near, far], await openTarget(t, echo))
  const exchange = async (text: string): Promise<string> => {
    const caller = await openCaller(t, near, far, ruleId)
    caller.end(text)
    return (await readAll(caller)).toString()
  }
  return { near, far, id, ruleId, exchange }
}

const events = ({ lines }: Client): string[] => lines.map(({ event }) => event)

t.test('auto dials the near client if it listens, else the far one', async t => {
  for (const [more, role] of [
    [{}, 'listener'],
    [{ nearListens: false }, 'dialer'],
    [{ farListens: false }, 'listener']
  ] as const) {
    const near = await openClient(t)
    const far = await openClient(t)
    const id = setLink(near, far, more)
    await untilUp(near, id)
    t.equal(linkOf(near, id).role, role)
  }
})

t.test('a link without an endpoint that its direction needs is down', async t => {
  const near = await openClient(t)
  const far = await openClient(t)

  const id = setLink(near, far, { direction: 'direct', farListens: false })
  await near.until(() => linkOf(near, id).state === 'down')

  t.equal(linkOf(near, id).reason, 'no_endpoint')
  t.equal(linkOf(far, id).reason, 'no_endpoint')
})

t.test('guardrails of an agent keep its link down', async t => {
  const near = await openClient(t)
  const far = await openClient(t)
  near.ports = false

  const listener = setLink(near, far, { direction: 'reverse' })
  const dialer = setLink(far, near, { direction: 'direct', more: { peer_hosts: ['127.0.0.9'] } })

  await near.until(() => linkOf(near, listener).state === 'down')
  t.equal(linkOf(near, listener).reason, 'denied_by_agent')
  await far.until(() => linkOf(far, dialer).state === 'down')
  t.equal(linkOf(far, dialer).reason, 'denied_by_agent')
})

t.test(
  'a link connection carries one client connection after the other, and no byte passes to the next',
  async t => {
    const { near, id, exchange } = await openEcho(t, 'direct', 2)
    const link = linkOf(near, id)
    await near.until(() => link.idleCount === 2)
    const handshakes = link.handshakes.get('full')

    for (let at = 0; at < 50; at++) t.equal(await exchange(`text ${at}`), `text ${at}`)

    t.equal(link.opens.get('opened'), 50)
    t.ok((link.handshakes.get('full') ?? 0) - (handshakes ?? 0) <= 8, 'few of them were made for it')
    t.same(link.counts.up, link.counts.down)
  }
)

t.test('a probe leaves its link connection ready', async t => {
  const { near, far, id, ruleId } = await openEcho(t, 'reverse', 2)
  const link = linkOf(near, id)

  for (let at = 0; at < 20; at++) {
    const dialed = await dial(near, far, ruleId, { isProbe: true })
    if ('reason' in dialed) t.fail(dialed.reason)
    else dialed.cancel()
  }

  t.equal(link.openCount, 0)
  t.ok((link.handshakes.get('full') ?? 0) <= 8)
})

t.test('a wrong pin keeps the link down, and both sides say so', async t => {
  const near = await openClient(t)
  const far = await openClient(t)
  const right = far.pins
  far.pins = ['ab'.repeat(32)]

  const id = setLink(near, far, { direction: 'direct' })
  await near.until(() => linkOf(near, id).state === 'down')
  t.equal(linkOf(near, id).reason, 'pin_mismatch')
  t.match(near.lines.find(({ event }) => event === 'link.pin_mismatch')?.fields, {
    peer: far.id,
    got: right[0]
  })

  far.pins = right
  near.pins = ['cd'.repeat(32)]
  setLink(near, far, { direction: 'direct' }, id)
  await far.until(() => events(far).includes('link.pin_mismatch'))
  await near.until(() => events(near).includes('link.peer_refused'))
  t.equal(linkOf(near, id).reason, 'pin_mismatch')
})

t.test('a peer that learns of the link a moment later gets it up without a long wait', async t => {
  const { far } = await openEcho(t) // the port is open for another link
  const near = await openClient(t)
  const deaf = (client: Client): Client => ({ ...client, links: { set() {} } as unknown as Client['links'] })

  const id = setLink(near, deaf(far), { direction: 'direct' })
  await near.until(() => events(near).includes('link.peer_refused'))
  t.equal(linkOf(near, id).state, 'connecting')
  setLink(deaf(near), far, { direction: 'direct' }, id)

  await untilUp(near, id)
})

t.test('a stranger without a certificate, or with another protocol, learns and logs nothing', async t => {
  const { near, far } = await openEcho(t)
  const before = far.lines.length

  const plain = connect(far.port, '127.0.0.1')
  plain.write('GET / HTTP/1.1\r\n\r\n')
  t.equal((await readAll(plain).catch(() => Buffer.alloc(0))).toString('latin1').includes('HTTP'), false)
  const tls = connectTls({
    port: far.port,
    host: '127.0.0.1',
    rejectUnauthorized: false,
    ALPNProtocols: ['svc-link/1']
  })
  tls.on('error', () => {})
  await once(tls, 'close')

  t.equal(far.lines.length, before)
  t.ok(near)
})

for (const direction of ['reverse', 'direct'] as const)
  t.test(`${direction}: a key is rotated under a live connection`, async t => {
    const { near, far, id, ruleId, exchange } = await openEcho(t, direction)
    const caller = await openCaller(t, near, far, ruleId)
    const [old = ''] = far.pins
    far.rotate()
    const [next = ''] = far.pins
    far.pins = [old, next]
    setLink(near, far, { direction }, id)

    caller.write('still here')
    const [bytes] = await once(caller, 'data')
    t.equal(String(bytes), 'still here')
    far.pins = [next]
    setLink(near, far, { direction }, id)
    for (let at = 0; at < 5; at++) t.equal(await exchange('new'), 'new')
    caller.end('end')
    t.equal((await readAll(caller)).toString(), 'end')
    t.equal(linkOf(near, id).state, 'up')
  })

t.test('a cut path resets its connections, and the link comes up again', async t => {
  const near = await openClient(t)
  const far = await openClient(t)
  const path = await breakableLink(t, () => far.port)
  const id = setLink(near, far, { direction: 'direct', farPort: path.port })
  await untilUp(near, id)
  const ruleId = setPath([near, far], await openTarget(t, echo))
  const caller = await openCaller(t, near, far, ruleId)

  const reset = once(caller, 'error')
  path.cut()
  t.match(await reset, [{ code: 'ECONNRESET' }])
  await near.until(() => linkOf(near, id).state === 'down')
  t.match(await dial(near, far, ruleId), { reason: 'link_down', isRefusal: true })
  path.heal()
  await untilUp(near, id)

  const again = await openCaller(t, near, far, ruleId)
  again.end('again')
  t.equal((await readAll(again)).toString(), 'again')
})

t.test('a removed link cuts its connections at both ends', async t => {
  const { near, far, id, ruleId } = await openEcho(t)
  const caller = await openCaller(t, near, far, ruleId)

  const reset = once(caller, 'error')
  await far.links.remove(id, 'cut')

  t.match(await reset, [{ code: 'ECONNRESET' }])
  await near.until(() => linkOf(near, id).state === 'down')
})

t.test('a link that drains keeps its live connections until they end', async t => {
  const { near, far, id, ruleId } = await openEcho(t)
  const caller = await openCaller(t, near, far, ruleId)

  const done = Promise.all([near.links.remove(id, 'drain'), far.links.remove(id, 'drain')])
  t.match(await dial(near, far, ruleId), { reason: 'link_down' })
  caller.end('last')
  t.equal((await readAll(caller)).toString(), 'last')
  await done
})

t.test('a withdrawn part refuses new connections; cut resets the live ones, drain lets them end', async t => {
  const { near, far, ruleId } = await openEcho(t)
  const draining = await openCaller(t, near, far, ruleId)
  const done = far.links.exits.remove(ruleId, 'drain')
  t.match(await dial(near, far, ruleId), { reason: 'rule_unknown', isRefusal: true })
  draining.end('drained')
  t.equal((await readAll(draining)).toString(), 'drained')
  await done

  const again = setPath([near, far], await openTarget(t, echo))
  const cut = await openCaller(t, near, far, again)
  const reset = once(cut, 'error')
  await far.links.exits.remove(again, 'cut')
  t.match(await reset, [{ code: 'ECONNRESET' }])
})

for (const direction of ['reverse', 'direct'] as const)
  t.test(`${direction}: a test measures the link in both directions`, async t => {
    const { near, id } = await openEcho(t, direction)

    const measured = await near.links.test(id, 256 * 1024, 2_000)

    t.match(measured, { rtt_ms: Number, handshake_ms: Number, up_bps: Number, down_bps: Number })
    t.equal(measured.error, undefined)
  })

t.test('a caller that does not read stalls only itself', async t => {
  const port = await openTarget(t, socket => {
    const bytes = Buffer.alloc(64 * 1024)
    const write = (): void => {
      while (socket.write(bytes));
    }
    socket.on('drain', write)
    socket.on('data', () => {})
    write()
  })
  const { near, far, id, exchange } = await openEcho(t)
  const stalled = await openCaller(t, near, far, setPath([near, far], port))
  stalled.write(Buffer.alloc(1024 * 1024))
  const link = linkOf(near, id)

  await new Promise(resolve => stalled.once('readable', resolve))
  for (let at = 0; at < 20; at++) t.equal(await exchange('passes'), 'passes')

  t.ok(link.counts.up >= 1024 * 1024, 'what it sends is read, although it reads nothing')
  t.ok(link.counts.down < 32 * 1024 * 1024, `${link.counts.down} bytes wait for it`)
})

t.test('a reset of the caller ends the leg at the exit while the target does not read', async t => {
  const port = await openTarget(t, socket => void socket.pause())
  const { near, far, id } = await openEcho(t)
  const { caller, stream } = await openStream(t, near, far, setPath([near, far], port))
  caller.write(Buffer.alloc(64 * 1024 * 1024))
  let lastUp = 0
  await near.until(() => {
    const { up } = linkOf(near, id).counts
    const isStalled = up > 0 && up === lastUp
    lastUp = up
    return isStalled
  })

  const began = performance.now()
  stream.destroy(new Error('the engine has seen a reset'))
  await far.until(() => linkOf(far, id).openCount === 0)

  t.ok(performance.now() - began < 1_500)
})
