import { type Static, Type } from 'typebox'
import { Revision } from '../../kernel/wire/control.ts'
import {
  Bytes,
  type Capability,
  Count,
  defineMessage,
  defineRequest,
  Entries
} from '../../kernel/wire/message.ts'

const proto = new URL('./rules.proto', import.meta.url)

export { ruleKind } from '../../agent/wire/rule-kind.ts'
/** The key of this plugin's settings in Welcome. */
export const settingsPart = 'rules'

export const maxTargets = 8

const RuleId = Type.String({ maxLength: 26 })
const Port = Type.Integer({ minimum: 0, maximum: 65_535 })
const Target = Type.Object({ host: Type.String({ maxLength: 255 }), port: Port, priority: Count })
const Protocol = Type.Union([Type.Literal('tcp'), Type.Literal('udp')])
const Removal = Type.Union([Type.Literal('drain'), Type.Literal('cut')])

/** The fate of live connections if a change removes their target or pauses their rule. */
const Existing = Type.Union([Type.Literal('keep'), Type.Literal('drain'), Type.Literal('cut')])

/** The agent changes open rules (targets, ports, names) without breaking connections, and pauses them. */
export const updateCapability: Capability = { id: 'rule.update', since: '2.1.0' }

export const Settings = defineMessage({
  name: 'sluice.rules.Settings',
  proto,
  body: Type.Object({ drain_timeout_secs: Count, tcp_idle_timeout_secs: Count })
})

const RuleApplied = defineMessage({
  name: 'sluice.rules.RuleApplied',
  proto,
  body: Type.Object({ rule_id: RuleId, revision: Revision })
})

export const RulePush = defineRequest({
  name: 'sluice.rules.RulePush',
  proto,
  body: Type.Object({
    rule_id: RuleId,
    revision: Revision,
    owner: Type.String({ maxLength: 32 }),
    protocol: Protocol,
    listen_from: Port,
    listen_to: Port,
    targets: Type.Array(Target, { maxItems: maxTargets }),
    prefer_ipv6: Type.Boolean(),
    fields: Entries(Bytes, 64),
    retry: Type.Boolean(),
    deferred: Type.Optional(Type.Boolean()),
    existing: Type.Optional(Existing),
    paused: Type.Optional(Type.Boolean())
  }),
  response: RuleApplied
})
export type RulePush = Static<typeof RulePush.body>

export const RuleRemove = defineRequest({
  name: 'sluice.rules.RuleRemove',
  proto,
  body: Type.Object({ rule_id: RuleId, revision: Revision, removal: Removal }),
  response: RuleApplied
})

export const RulesOpen = defineRequest({
  name: 'sluice.rules.RulesOpen',
  proto,
  body: Type.Object({}),
  response: defineMessage({ name: 'sluice.rules.RulesOpened', proto, body: Type.Object({}) })
})

export const maxClosed = 1000 // in one message

export const RulesClosed = defineMessage({
  name: 'sluice.rules.RulesClosed',
  proto,
  body: Type.Object({
    rules: Type.Array(
      Type.Object({
        rule_id: RuleId,
        reason: Type.String({ maxLength: 32, pattern: '^[a-z0-9_]{0,32}$' })
      }),
      { maxItems: maxClosed }
    )
  })
})
export type RulesClosed = Static<typeof RulesClosed.body>

export const messages = [
  Settings,
  RulePush,
  RuleRemove,
  RuleApplied,
  RulesOpen,
  RulesOpen.response,
  RulesClosed
]
