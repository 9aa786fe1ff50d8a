// The rule field `connection_log`, for server and agent.
import { type DeclaredField, Type } from 'sluice/agent-plugin'

export const field = {
  key: 'connection_log',
  capability: { id: 'rule.connection-log', since: '1.0.0' },
  body: Type.Boolean({ description: 'Ship a log line for each ended connection.', examples: [true] })
} satisfies DeclaredField
