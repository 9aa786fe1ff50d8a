import { definePlugin } from '../../kernel/plugin.ts'
import { fills } from './commands.ts'
import { Balance } from './entities.ts'
import { field, invalidBalance } from './field.ts'
import { Balance0001 } from './migrations/0001-balance.ts'
import { Spread } from './wire.ts'

export default definePlugin({
  name: 'balance',
  version: '1.0.0',
  description: 'How connections are spread over the targets of a rule.',
  kernel: '^2.0.0',
  needs: { rules: '^1.0.0' },
  codes: [invalidBalance],
  store: { entities: [Balance], migrations: [{ name: '0001-balance', class: Balance0001 }] },
  fills: [field, ...fills],
  messages: [Spread]
})
