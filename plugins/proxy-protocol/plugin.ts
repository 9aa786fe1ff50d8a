import { definePlugin } from '../../kernel/plugin.ts'
import { fills } from './commands.ts'
import { ProxyProtocol } from './entities.ts'
import { fields, invalidIn, invalidOut } from './fields.ts'
import { ProxyProtocol0001 } from './migrations/0001-proxy-protocol.ts'
import { messages } from './wire.ts'

export default definePlugin({
  name: 'proxy-protocol',
  version: '1.0.0',
  description: "The PROXY protocol: the caller's address from proxies in front, and for targets.",
  kernel: '^2.0.0',
  needs: { rules: '^1.0.0' },
  codes: [invalidOut, invalidIn],
  store: {
    entities: [ProxyProtocol],
    migrations: [{ name: '0001-proxy-protocol', class: ProxyProtocol0001 }]
  },
  fills: [...fields, ...fills],
  messages
})
