// The rule field `connection_log`: its agent ships a line for each connection of the rule that has ended.
import { defineEntity, definePlugin, rules, Type } from 'sluice/plugin'
import { ConnectionLog0001 } from './migrations/0001-logged-rule.ts'
import { capability, key, Logged } from './wire.ts'

const LoggedRule = defineEntity({
  name: 'ConnectionLogRule',
  tableName: 'connection_log_rule',
  properties: { rule: rules.ruleKey }
})

const field = rules.ruleField({
  key,
  change: 'frozen',
  absent: false,
  body: Type.Boolean({ description: 'Ship a line for each connection that has ended.', examples: [true] }),
  requires: { capability, refusal: rules.fieldUnsupported },
  message: Logged,
  parse: isLogged => isLogged || null,
  async check() {},
  async save(rule, _isLogged, em) {
    await em.insert(LoggedRule, { rule })
  },
  async load(ids, em) {
    const rows = await em.find(LoggedRule, { rule: { $in: [...ids] } })
    return new Map(rows.map(({ rule }) => [rule, true]))
  },
  encode: () => ({})
})

export default definePlugin({
  name: 'connection-log',
  version: '1.0.0',
  kernel: '^2.0.0',
  needs: { rules: '^1.0.0' },
  store: {
    entities: [LoggedRule],
    migrations: [{ name: '0001-logged-rule', class: ConnectionLog0001 }]
  },
  fills: [field],
  messages: [Logged]
})
