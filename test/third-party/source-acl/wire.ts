// Shared by both halves: the key, the capability and the message of the field.
import { type Capability, defineMessage, type Static, Type } from 'sluice/agent-plugin'

export const key = 'source_acl'
export const capability: Capability = { id: 'rule.source-acl', since: '1.0.0' }

export const Lists = defineMessage({
  name: 'source_acl.Lists',
  proto: new URL('./source_acl.proto', import.meta.url),
  body: Type.Object({ allow: Type.Array(Type.String()), deny: Type.Array(Type.String()) })
})
export type Lists = Static<(typeof Lists)['body']>
