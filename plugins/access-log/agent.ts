import type { AgentCall, AgentPlugin } from '../../agent/plugin.ts'
import { type Config, config, formatLine, openDestination, toMetrics, Writer } from './access-log.ts'

type Call = AgentCall<Config>

const writers = new WeakMap<AgentCall, Writer>() // of each agent with a destination

export default {
  name: 'access-log',
  agent: '^1.5.0',
  config,
  plan(draft, _rule, { config }: Call) {
    if (config.to !== undefined) draft.reportEnds = true
  },
  event(event, call: Call) {
    if (event.kind !== 'connections-ended') return
    const writer = writers.get(call)
    if (!writer) return
    if (event.lost > 0) writer.drop('overrun', event.lost)
    const { ended_share, refused_share } = call.config
    for (const ended of event.ended)
      if (Math.random() < (ended.end === 'refused' ? refused_share : ended_share)) {
        const rule = call.rules.find(ended.ruleId)
        writer.add(rule?.owner ?? '', formatLine(ended, rule, call.clientId))
      }
  },
  stopping: async call => writers.get(call)?.flush(),
  metrics(call) {
    const writer = writers.get(call)
    return writer ? toMetrics(writer) : []
  },
  async start({ call, defer }) {
    const { config, clock, log } = call as Call
    const { to, max_lines_per_sec: maxPerSec, max_file_bytes: maxFileBytes } = config
    if (to === undefined) return
    const writer = new Writer({ to, destination: openDestination(to, maxFileBytes), maxPerSec, clock, log })
    writers.set(call, writer)
    const reopen = (): void => writer.reopen()
    process.on('SIGHUP', reopen)
    reopen() // reports a bad destination now instead of at the first line
    defer(async () => {
      process.off('SIGHUP', reopen)
      writers.delete(call)
      await writer.close()
    })
  }
} satisfies AgentPlugin
