// The descriptors of dials that try several addresses of a name at once.
import t, { type Test } from 'tap'
import { LocalPorts } from '../../agent/portable-engine/net/local-ports.ts'
import { connectFirst } from '../../agent/portable-engine/tcp/happy-eyeballs.ts'
import { echo, openTarget, openUnresponsiveTarget } from './engine-fixture.ts'

/** Dials a silent address, then one that answers. Returns its address and the calls of `share`. */
async function dialSecond(t: Test, free: number) {
  const port = await openUnresponsiveTarget(t, '127.0.1.1')
  await openTarget(t, echo, { host: '127.0.1.2', port })
  const calls: string[] = []
  let left = free
  const share = {
    reserveOwn() {
      calls.push(left > 0 ? 'reserved' : 'refused')
      return left-- > 0
    },
    release: (count: number) => void calls.push(`released ${count}`)
  }
  const route = { port, from: null, localPorts: new LocalPorts(), share }
  const outcome = await connectFirst(['127.0.1.1', '127.0.1.2'], route, AbortSignal.timeout(20_000))
  if (!('socket' in outcome)) throw new TypeError(`failed: ${outcome.failure}`)
  outcome.socket.destroy()
  return { address: outcome.address, calls }
}

t.test('an attempt beside a slow one has a descriptor, which is released when one is left', async t => {
  t.strictSame(await dialSecond(t, 1), { address: '127.0.1.2', calls: ['reserved', 'released 1'] })
})

t.test(
  'without a free descriptor, the next address is tried when the attempt before it has ended',
  async t => {
    t.strictSame(await dialSecond(t, 0), { address: '127.0.1.2', calls: ['refused', 'released 0'] })
  }
)
