// A peer sends neither FIN nor RST if its host vanishes. The kernel alone gives up after 15 minutes.
import { join } from 'node:path'
import t from 'tap'
import { noOwnNetwork, runInOwnNetwork } from '../support/own-network.ts'
import { nativeUnderTest } from './native-under-test.ts'

if (noOwnNetwork !== null) t.plan(0, noOwnNetwork)
else
  t.test('a connection ends when a peer acknowledges nothing for the time of a dead one', async t => {
    const ends: Record<string, string> = {}
    for (const engine of nativeUnderTest().ok ? ['portable', 'native'] : ['portable'])
      for (const role of ['caller', 'target'])
        for (const traffic of ['flood', 'a closed window', 'one byte'])
          ends[`${engine}, ${role}, ${traffic}`] = `${role}_reset`
    t.same(await runInOwnNetwork(t, join(import.meta.dirname, 'dead-peer.ts')), ends)
  })
