// The agent half: posts batches of JSON lines to a collector. Counts and drops lines that the collector does not accept.
import {
  type AgentCall,
  type AgentPlugin,
  defineCommand,
  defineField,
  type EndedConnection,
  type EngineEvent,
  type Static,
  Type
} from 'sluice/agent-plugin'
import { field } from './field.ts'

const config = Type.Object({
  collector: Type.String({ pattern: '^https?://', description: 'URL that accepts JSON lines by POST.' })
})
type Call = AgentCall<Static<typeof config>>

const timeoutMs = 5_000

interface Counts {
  shipped: number
  lost: number
}
const counts = new WeakMap<AgentCall, Counts>() // per agent

function countsOf(call: AgentCall): Counts {
  const found = counts.get(call) ?? { shipped: 0, lost: 0 }
  counts.set(call, found)
  return found
}

async function ship(lines: readonly object[], call: Call): Promise<void> {
  const { config, log } = call
  try {
    const body = lines.map(line => `${JSON.stringify(line)}\n`).join('')
    const headers = { 'content-type': 'application/x-ndjson' }
    const signal = AbortSignal.timeout(timeoutMs)
    const { ok, status } = await fetch(config.collector, { method: 'POST', headers, body, signal })
    if (!ok) throw new Error(`the collector responded with status ${status}`)
    countsOf(call).shipped += lines.length
  } catch (error) {
    countsOf(call).lost += lines.length
    log.warn('connection_log.not_shipped', `${lines.length} lines lost: ${String(error)}`)
  }
}

const lineOf = ({ ruleId, openedAt, ...record }: EndedConnection, call: Call): object => ({
  rule_id: call.rules.find(ruleId)?.id ?? null,
  opened_at: new Date(openedAt).toISOString(),
  ...record
})

export default {
  name: 'connection-log',
  agent: '^1.5.0',
  config,
  fields: [
    defineField({
      ...field,
      plan(_value, draft) {
        draft.reportEnds = true
      }
    })
  ],
  commands: [
    defineCommand({
      name: 'connection-log',
      summary: 'Show the numbers of accepted and lost lines since the start.',
      run: ({ call }) => ({ ...countsOf(call) })
    })
  ],
  event(event: EngineEvent, call: Call) {
    if (event.kind !== 'connections-ended') return
    countsOf(call).lost += event.lost
    const lost = event.lost > 0 ? [{ lost: event.lost }] : []
    void ship([...lost, ...event.ended.map(record => lineOf(record, call))], call)
  }
} satisfies AgentPlugin
