// Both engines listen on all addresses of a host with several.
import { join } from 'node:path'
import t from 'tap'
import { noOwnNetwork, runInOwnNetwork } from '../support/own-network.ts'
import { nativeUnderTest } from './native-under-test.ts'

const native = nativeUnderTest()
const script = join(import.meta.dirname, 'udp-addresses.ts')

if (noOwnNetwork !== null) t.plan(0, noOwnNetwork)
else
  for (const [engine, skip] of [
    ['native', !native.ok],
    ['portable', false]
  ] as const)
    t.test(
      `${engine}: one source port gets an answer from each address that it sends to`,
      { skip },
      async t => {
        t.same(await runInOwnNetwork(t, script, { ENGINE: engine }), {
          ipv4: ['10.79.0.1', '10.79.0.2', '127.0.0.1'],
          ipv6: ['::1', 'fd79::1', 'fd79::2'],
          flows: 6,
          broadcast: ['10.79.0.1'],
          received: 2,
          late: ['10.79.0.3'],
          lateFlows: 1
        })
      }
    )
