// The server half: for a rule with `connection_log` the agent ships a log line for each ended connection.
import { definePlugin, rules } from 'sluice/plugin'
import { field } from './field.ts'

const connectionLog = rules.ruleField({
  ...field,
  change: 'frozen',
  absent: false,
  parse: isLogged => isLogged || null
})

export default definePlugin({
  name: 'connection-log',
  version: '1.0.0',
  kernel: '^2.0.0',
  needs: { rules: '^1.0.0' },
  fills: [connectionLog]
})
