// A dead target on this host, at a port that the system may also choose as the local port of a dial.
import { join } from 'node:path'
import t from 'tap'
import { noOwnNetwork, runInOwnNetwork } from '../support/own-network.ts'
import { nativeUnderTest } from './native-under-test.ts'

if (noOwnNetwork !== null) t.plan(0, noOwnNetwork)
else
  t.test('callers of a target that is down never get their own bytes back', async t => {
    const seen = await runInOwnNetwork(t, join(import.meta.dirname, 'self-connection.ts'))
    const engines = nativeUnderTest().ok ? ['portable', 'native'] : ['portable']
    t.same(
      seen,
      Object.fromEntries(
        engines.flatMap(engine => [
          [`tcp ${engine}`, { ends: ['reset'], bytes: 0 }],
          [`udp ${engine}`, { bytes: 0 }]
        ])
      )
    )
  })
