// Shared by both halves: the key, the capability and the message of the field.
import { type Capability, defineMessage, Type } from 'sluice/agent-plugin'

export const key = 'ends_at'
export const capability: Capability = { id: 'rule.expires-at', since: '1.0.0' }

export const Expires = defineMessage({
  name: 'expiry.Expires',
  proto: new URL('./expiry.proto', import.meta.url),
  body: Type.Object({ at_ms: Type.Integer({ minimum: 0, maximum: Number.MAX_SAFE_INTEGER }) })
})
