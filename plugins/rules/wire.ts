import { type Static, Type } from 'typebox'
import { Bytes, defineMessage, defineRequest } from '../../kernel/wire/message.ts'

const proto = new URL('./rules.proto', import.meta.url)

/** The kind of managed object. */
export const ruleKind = 'rule'
/** The key of this plugin's part of Welcome. */
export const settingsPart = 'rules'

const Protocol = Type.Union([Type.Literal('tcp'), Type.Literal('udp')])
const Removal = Type.Union([Type.Literal('drain'), Type.Literal('cut')])

export const Settings = defineMessage({
  name: 'sluice.rules.Settings',
  proto,
  body: Type.Object({ drain_timeout_secs: Type.Integer(), tcp_idle_timeout_secs: Type.Integer() })
})

const RuleTaken = defineMessage({
  name: 'sluice.rules.RuleTaken',
  proto,
  body: Type.Object({ rule_id: Type.String(), revision: Type.Integer() })
})

export const RulePush = defineRequest({
  name: 'sluice.rules.RulePush',
  proto,
  body: Type.Object({
    rule_id: Type.String(),
    revision: Type.Integer(),
    owner: Type.String(),
    protocol: Protocol,
    listen_from: Type.Integer(),
    listen_to: Type.Integer(),
    targets: Type.Array(Type.Object({ host: Type.String(), port: Type.Integer(), priority: Type.Integer() })),
    prefer_ipv6: Type.Boolean(),
    fields: Type.Record(Type.String(), Bytes),
    retry: Type.Boolean()
  }),
  response: RuleTaken
})
export type RulePush = Static<typeof RulePush.body>

export const RuleRemove = defineRequest({
  name: 'sluice.rules.RuleRemove',
  proto,
  body: Type.Object({ rule_id: Type.String(), revision: Type.Integer(), removal: Removal }),
  response: RuleTaken
})

export const messages = [Settings, RulePush, RuleRemove, RuleTaken]
