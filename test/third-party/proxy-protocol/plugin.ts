// The PROXY protocol: the caller's address from a proxy in front, and for targets behind.
import { definePlugin } from 'sluice/plugin'
import { OutgoingRow, SendersRow } from './entities.ts'
import { incoming, notAPrefix, outgoing } from './fields.ts'
import { ProxyProtocol0001 } from './migrations/0001-fields.ts'
import { Outgoing, Senders } from './wire.ts'

export default definePlugin({
  name: 'proxy-protocol',
  version: '1.0.0',
  kernel: '^2.0.0',
  needs: { rules: '^1.0.0' },
  codes: [notAPrefix],
  store: {
    entities: [SendersRow, OutgoingRow],
    migrations: [{ name: '0001-fields', class: ProxyProtocol0001 }]
  },
  fills: [incoming, outgoing],
  messages: [Senders, Outgoing]
})
