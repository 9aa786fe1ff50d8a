// Shared by both halves: the key, the capability and the message of the field.
import { type Capability, defineMessage, Type } from 'sluice/agent-plugin'

export const key = 'connection_log'
export const capability: Capability = { id: 'rule.connection-log', since: '1.0.0' }

export const Logged = defineMessage({
  name: 'connection_log.Logged',
  proto: new URL('./connection_log.proto', import.meta.url),
  body: Type.Object({})
})
