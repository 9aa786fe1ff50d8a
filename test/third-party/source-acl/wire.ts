// Shared by both halves: the key, the capability and the message of the field.
import { type Capability, defineMessage, type Static, Type } from 'sluice/agent-plugin'

export const key = 'source_acl'
export const capability: Capability = { id: 'rule.source-acl', since: '1.0.0' }

export const maxEntries = 256
const Prefixes = Type.Array(Type.String({ maxLength: 64 }), { maxItems: maxEntries })

export const Lists = defineMessage({
  name: 'source_acl.Lists',
  proto: new URL('./source_acl.proto', import.meta.url),
  body: Type.Object({ allow: Prefixes, deny: Prefixes })
})
export type Lists = Static<(typeof Lists)['body']>
