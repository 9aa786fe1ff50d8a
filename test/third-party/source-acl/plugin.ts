import { definePlugin } from 'sluice/plugin'
import { commands } from './commands.ts'
import { SourceAcl } from './entities.ts'
import { field, missing, notAPrefix } from './field.ts'
import { SourceAcl0001 } from './migrations/0001-source-acl.ts'
import { Lists } from './wire.ts'

export default definePlugin({
  name: 'source-acl',
  version: '1.0.0',
  kernel: '^2.0.0',
  needs: { rules: '^1.0.0' },
  codes: [notAPrefix, missing],
  store: { entities: [SourceAcl], migrations: [{ name: '0001-source-acl', class: SourceAcl0001 }] },
  fills: [field],
  messages: [Lists],
  commands
})
