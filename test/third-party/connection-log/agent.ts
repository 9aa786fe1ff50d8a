// The agent half: it posts batches of JSON lines to a collector. What the collector does not take is counted, not kept.
import {
  type AgentCall,
  type AgentPlugin,
  defineField,
  type EndedConnection,
  type EngineEvent,
  type Static,
  Type
} from 'sluice/agent-plugin'
import { capability, key, Logged } from './wire.ts'

const config = Type.Object({
  collector: Type.String({ pattern: '^https?://', description: 'URL that takes JSON lines by POST.' })
})
type Call = AgentCall<Static<typeof config>>

const timeoutMs = 5_000

async function ship(lines: readonly object[], { config, log }: Call): Promise<void> {
  try {
    const body = lines.map(line => `${JSON.stringify(line)}\n`).join('')
    const headers = { 'content-type': 'application/x-ndjson' }
    const signal = AbortSignal.timeout(timeoutMs)
    const { ok, status } = await fetch(config.collector, { method: 'POST', headers, body, signal })
    if (!ok) throw new Error(`the collector answers ${status}`)
  } catch (error) {
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
  agent: '^1.1.0',
  config,
  capabilities: { [capability.id]: capability.since },
  messages: [Logged],
  fields: [
    defineField({
      key,
      message: Logged,
      plan(_value, draft) {
        draft.reportEnds = true
      }
    })
  ],
  event(event: EngineEvent, call: Call) {
    if (event.kind !== 'connections-ended') return
    const lost = event.lost > 0 ? [{ lost: event.lost }] : []
    void ship([...lost, ...event.ended.map(record => lineOf(record, call))], call)
  }
} satisfies AgentPlugin
