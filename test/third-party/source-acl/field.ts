// The rule field `source_acl`, for server and agent.
import { type DeclaredField, Type } from 'sluice/agent-plugin'

const List = Type.Array(Type.String({ maxLength: 64 }), {
  maxItems: 256,
  default: [],
  description: 'Addresses and prefixes: 192.0.2.7, 192.0.2.0/24, 2001:db8::/32.'
})

export const field = {
  key: 'source_acl',
  capability: { id: 'rule.source-acl', since: '1.0.0' },
  body: Type.Object(
    { allow: List, deny: List },
    {
      examples: [{ allow: ['192.0.2.0/24'] }],
      description:
        'Source addresses that may use the rule. Deny takes precedence; without allow, all others are allowed.'
    }
  )
} satisfies DeclaredField
