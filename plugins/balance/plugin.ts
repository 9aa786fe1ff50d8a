import { definePlugin } from '../../kernel/plugin.ts'
import { fills } from './commands.ts'
import { Balance, BalanceOptions } from './entities.ts'
import { explains } from './explain.ts'
import { field, invalidBalance } from './field.ts'
import { Balance0001 } from './migrations/0001-balance.ts'
import { Balance0002 } from './migrations/0002-balance-options.ts'
import { options } from './options.ts'
import { messages } from './wire.ts'

export default definePlugin({
  name: 'balance',
  version: '1.0.0',
  description: 'How connections are spread over the targets of a rule.',
  kernel: '^2.0.0',
  needs: { rules: '^1.0.0' },
  codes: [invalidBalance],
  store: {
    entities: [Balance, BalanceOptions],
    migrations: [
      { name: '0001-balance', class: Balance0001 },
      { name: '0002-balance-options', class: Balance0002 }
    ]
  },
  fills: [field, ...options, explains, ...fills],
  messages
})
