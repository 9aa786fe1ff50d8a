import { Fault } from '../../kernel/base/errors.ts'
import { definePlugin } from '../../kernel/plugin.ts'
import { pushOptions, ruleField } from '../rules/exports.ts'
import { field, invalidCap } from './field.ts'

const amplification = ruleField({
  ...field,
  change: 'frozen',
  journalKind: 'limit',
  parse(cap, { protocol }) {
    if (protocol === 'udp') return cap
    throw new Fault(invalidCap, '/amplification is for UDP rules: a TCP source cannot be forged', {
      details: { field: '/amplification', reason: 'protocol' }
    })
  }
})

export default definePlugin({
  name: 'amplification',
  version: '1.0.0',
  description: 'Caps the replies of UDP rules to a multiple of the bytes that callers sent.',
  kernel: '^2.0.0',
  needs: { rules: '^1.0.0' },
  codes: [invalidCap],
  fills: [amplification, pushOptions(field)]
})
