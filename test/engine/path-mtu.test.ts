// A router behind the edge host has a smaller MTU than the host's own link.
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { noOwnNetwork, runInOwnNetwork } from '../support/own-network.ts'
import { nativeUnderTest } from './native-under-test.ts'

const native = nativeUnderTest()
const script = join(import.meta.dirname, 'path-mtu.ts')
const run = (t: Test, engine: string) => runInOwnNetwork(t, script, { ENGINE: engine })

if (noOwnNetwork !== null) t.plan(0, noOwnNetwork)
else {
  t.test(
    'native: the first datagram above the MTU of the path arrives, in both directions',
    { skip: !native.ok },
    async t => {
      t.match(await run(t, 'native'), {
        ipv4: { answered: [1_400, 1_272, 3_000], rejected: {} },
        ipv6: { isReached: true }
      })
    }
  )

  t.test(
    'portable: a datagram above the MTU of the path is counted as too large, and later ones arrive',
    async t => {
      t.match(await run(t, 'portable'), {
        ipv4: { isReached: true, rejected: { datagram_too_large: 1 } },
        ipv6: { isReached: true }
      })
    }
  )
}
