import { definePlugin } from '../../kernel/plugin.ts'
import { fills } from './commands.ts'
import { SourceLimit } from './entities.ts'
import { field, invalidLimit } from './field.ts'
import { SourceLimit0001 } from './migrations/0001-source-limit.ts'
import { Limit } from './wire.ts'

export default definePlugin({
  name: 'source-limit',
  version: '1.0.0',
  description: 'How many connections each source may have, and begin, on a rule.',
  kernel: '^2.0.0',
  needs: { rules: '^1.0.0' },
  codes: [invalidLimit],
  store: { entities: [SourceLimit], migrations: [{ name: '0001-source-limit', class: SourceLimit0001 }] },
  fills: [field, ...fills],
  messages: [Limit]
})
