// No local port is free towards a target.
import { join } from 'node:path'
import t from 'tap'
import { noOwnNetwork, runInOwnNetwork } from '../support/own-network.ts'
import { nativeUnderTest } from './native-under-test.ts'

if (noOwnNetwork !== null) t.plan(0, noOwnNetwork)
else
  t.test(
    'without a local port, callers are refused with a reason, and the next target takes over',
    async t => {
      const seen = await runInOwnNetwork(t, join(import.meta.dirname, 'local-ports.ts'))
      const engines = nativeUnderTest().ok ? ['portable', 'native'] : ['portable']
      t.same(
        seen,
        Object.fromEntries(
          engines.flatMap(engine => [
            [
              `tcp ${engine}`,
              { ends: ['reset'], rejected: { no_local_port: 3 }, failures: 0, other: 'next' }
            ],
            [`udp ${engine}`, { rejected: { no_local_port: 1 } }]
          ])
        )
      )
    }
  )
