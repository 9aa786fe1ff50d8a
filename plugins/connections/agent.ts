import type { AgentCall, AgentPlugin, ConnectionFilter } from '../../agent/plugin.ts'
import { newId } from '../../kernel/platform/id.ts'
import { respond } from '../../kernel/wire/message.ts'
import { Close, List, messages, pathCapability, type Row, type Selection } from './wire.ts'

/** The id of this process by call context: connection ids are unique within a process. */
const runs = new WeakMap<AgentCall, string>()

function runOf(call: AgentCall): string {
  const run = runs.get(call) ?? newId(call.clock.now())
  runs.set(call, run)
  return run
}

type Open = ReturnType<AgentCall['connections']['list']>['rows'][number]

const toFilter = ({
  rule_id,
  owner,
  protocol,
  source,
  target,
  target_port,
  ids,
  path_words: words
}: Selection): ConnectionFilter => ({
  rule:
    rule_id === undefined && owner === undefined && protocol === undefined
      ? null
      : spec =>
          (rule_id === undefined || spec.id === rule_id) &&
          (owner === undefined || spec.owner === owner) &&
          (protocol === undefined || spec.protocol === protocol),
  ids: ids.length === 0 ? null : ids,
  sources: source === undefined ? null : [source],
  target: target === undefined ? null : { address: target, port: target_port ?? null },
  planned: words.length === 0 ? null : ({ path = '' }) => path.split(' ').some(word => words.includes(word))
})

const formatAddress = ({ address, port }: Open['source']): string =>
  `${address.includes(':') ? `[${address}]` : address}:${port}`

const toLeg = ({ rttMs, retransmits }: NonNullable<Open['caller']>) => ({ rtt_ms: rttMs, retransmits })

const toRow = (open: Open): Row => ({
  id: open.id,
  key: open.key,
  rule_id: open.rule.id,
  protocol: open.rule.protocol,
  source: formatAddress(open.source),
  listen: formatAddress(open.listen),
  target: open.target ? formatAddress(open.target) : '',
  ...(open.divert !== null && { divert: open.divert }),
  ...(open.planned?.path !== undefined && { path: open.planned.path }),
  age_ms: open.ageMs,
  idle_ms: open.idleMs,
  bytes_in: open.bytesIn,
  bytes_out: open.bytesOut,
  held_by: open.heldBy?.slice(0, 64) ?? '',
  ...(open.caller && { caller: toLeg(open.caller) }),
  ...(open.targetLeg && { server: toLeg(open.targetLeg) })
})

export default {
  name: 'connections',
  agent: '^1.0.0',
  capabilities: { [pathCapability.id]: pathCapability.since },
  messages,
  handlers: [
    respond(List, async (call: AgentCall, { selection, sort, limit, after_key: key, after_id: id }) => {
      const after = key === undefined || id === undefined ? null : { key, id }
      const found = call.connections.list({ ...toFilter(selection), sort, after, limit })
      const { matched, bytesIn: bytes_in, bytesOut: bytes_out, rows } = found
      return { run: runOf(call), matched, bytes_in, bytes_out, rows: rows.map(toRow) }
    }),
    respond(Close, async (call: AgentCall, { selection, run }) => {
      if (run !== '' && run !== runOf(call)) return { count: 0 } // ids of an earlier process
      return { count: call.connections.end(toFilter(selection)) }
    })
  ]
} satisfies AgentPlugin
