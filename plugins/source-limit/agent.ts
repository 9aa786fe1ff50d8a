// The agent half: the engine counts each source by itself. A change counts for connections that begin later.
import { type AgentPlugin, defineField, type SourceLimit } from '../../agent/plugin.ts'
import { capability, defaultWithinSecs, key, Limit, refusal } from './wire.ts'

function* limitsOf(id: string, limit: Limit): Generator<SourceLimit> {
  const { connections, new_connections, within_secs = defaultWithinSecs } = limit
  const perMs = within_secs * 1000
  if (new_connections !== undefined)
    yield { name: `source-limit new ${id}`, of: 'new', max: new_connections, perMs, refusal }
  if (connections !== undefined)
    yield { name: `source-limit open ${id}`, of: 'open', max: connections, perMs: 1, refusal }
}

export default {
  name: 'source-limit',
  agent: '^1.5.0',
  capabilities: { [capability.id]: capability.since },
  messages: [Limit],
  fields: [
    defineField({
      key,
      message: Limit,
      plan(limit, draft, { id }) {
        draft.sourceLimits = [...draft.sourceLimits, ...limitsOf(id, limit)]
      }
    })
  ]
} satisfies AgentPlugin
