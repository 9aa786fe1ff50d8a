import { definePlugin } from '../../kernel/plugin.ts'
import { fills } from './commands.ts'
import { Amplification } from './entities.ts'
import { field, invalidCap } from './field.ts'
import { Amplification0001 } from './migrations/0001-amplification.ts'
import { Cap } from './wire.ts'

export default definePlugin({
  name: 'amplification',
  version: '1.0.0',
  description: 'UDP rules reply with no more than a multiple of what was asked.',
  kernel: '^2.0.0',
  needs: { rules: '^1.0.0' },
  codes: [invalidCap],
  store: {
    entities: [Amplification],
    migrations: [{ name: '0001-amplification', class: Amplification0001 }]
  },
  fills: [field, ...fills],
  messages: [Cap]
})
