import { Type } from 'typebox'
import { type Capability, Count, defineMessage } from '../../kernel/wire/message.ts'

export const capability: Capability = { id: 'rule.udp', since: '0.4.0' }

/** The part of Welcome that holds Settings. */
export const settingsPart = 'udp'

export const Settings = defineMessage({
  name: 'sluice.udp.Settings',
  proto: new URL('./udp.proto', import.meta.url),
  body: Type.Object({ max_flows_per_rule: Count, flow_idle_secs: Count })
})
