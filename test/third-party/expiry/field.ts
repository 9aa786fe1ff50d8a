// The rule field `ends_at`, for server and agent.
import { type DeclaredField, Type } from 'sluice/agent-plugin'

const sent = Type.Object({ at_ms: Type.Integer({ minimum: 0, maximum: Number.MAX_SAFE_INTEGER }) })
export type Expires = typeof sent

export const field = {
  key: 'ends_at',
  capability: { id: 'rule.expires-at', since: '1.0.0' },
  body: Type.String({
    format: 'date-time',
    maxLength: 64,
    description: 'When the rule ends (RFC 3339).',
    examples: ['2099-01-01T00:00:00Z']
  }),
  sent
} satisfies DeclaredField
