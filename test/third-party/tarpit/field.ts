// The rule field `tarpit`, for server and agent.
import { type DeclaredField, Type } from 'sluice/agent-plugin'

export const field = {
  key: 'tarpit',
  capability: { id: 'rule.tarpit', since: '1.0.0' },
  body: Type.Object(
    {
      sources: Type.Array(Type.String({ maxLength: 64 }), {
        maxItems: 256,
        description: 'Addresses and prefixes: 192.0.2.7, 192.0.2.0/24, 2001:db8::/32.'
      }),
      max: Type.Integer({
        minimum: 1,
        maximum: 10_000,
        default: 100,
        description: 'Connections in the tarpit at once; more are refused.'
      })
    },
    {
      description: 'Callers from these sources get one byte in a while instead of a target.',
      examples: [{ sources: ['192.0.2.0/24'] }]
    }
  )
} satisfies DeclaredField
