import { Fault } from '../../kernel/base/errors.ts'
import { definePlugin } from '../../kernel/plugin.ts'
import { pushOptions, ruleField } from '../rules/exports.ts'
import { defaultWithinSecs, field, invalidLimit } from './field.ts'

const sourceLimit = ruleField({
  ...field,
  change: 'frozen',
  journalKind: 'limit',
  parse({ connections = null, new_connections = null, within_secs = null }) {
    if (within_secs !== null && new_connections === null)
      throw new Fault(invalidLimit, '/source_limit/within_secs needs new_connections: give both or neither', {
        details: { field: '/source_limit/within_secs', reason: 'new_connections' }
      })
    if (connections === null && new_connections === null) return null
    const seconds = new_connections === null ? null : (within_secs ?? defaultWithinSecs)
    return { connections, new_connections, within_secs: seconds }
  }
})

export default definePlugin({
  name: 'source-limit',
  version: '1.0.0',
  description: 'Limits the open and the new connections of each source on a rule.',
  kernel: '^2.0.0',
  needs: { rules: '^1.0.0' },
  codes: [invalidLimit],
  fills: [sourceLimit, pushOptions(field)]
})
