import { setTimeout } from 'node:timers/promises'
import { Type } from '../../kernel/cli/args.ts'
import { defineCommand } from '../../kernel/cli/command.ts'
import { liveTrafficSlot, RuleArg } from '../rules/command-exports.ts'
import type { RuleStats } from './schema.ts'

const everyMs = 5_000

const stats = defineCommand({
  name: 'rule stats',
  summary: 'Show what a rule has forwarded so far.',
  args: Type.Object({
    rule: RuleArg,
    by: Type.Optional(
      Type.Union([Type.Literal('port'), Type.Literal('target'), Type.Literal('client')], {
        description: 'Show a row for each port, target or client instead.'
      })
    ),
    watch: Type.Optional(Type.Boolean({ description: 'Repeat every 5 s until interrupted.' }))
  }),
  positional: ['rule'],
  until: 'stopped',
  async run({ api, args: { rule, by, watch }, print, signal }) {
    const parts = { path: { rule_id: rule }, query: by ? { [`per_${by}`]: true } : {} }
    for (;;) {
      const stats = await api.call('GET /v1/rules/{rule_id}/stats', parts)
      if (by === 'port') print.data(stats.per_port ?? [])
      else if (by === 'target') print.data(stats.per_target ?? [])
      else if (by === 'client') print.data(stats.per_client ?? [], clientColumns)
      else print.data(stats)
      if (!watch || !(await waited(everyMs, signal))) return
    }
  }
})

const clientColumns = [
  'client_name',
  'bytes_in',
  'bytes_out',
  'active_connections',
  'active_flows',
  'connections_total'
]

/** Resolves to false if the signal came first. */
const waited = (ms: number, signal: AbortSignal): Promise<boolean> =>
  setTimeout(ms, true, { signal }).catch(() => false)

const summary = defineCommand({
  name: 'stats summary',
  summary: 'Show how many clients and rules there are, and what they forward.',
  run: async ({ api, print }) => print.data(await api.call('GET /v1/stats/summary'))
})

const liveTraffic = liveTrafficSlot.fill(async (ruleId, api) => {
  const { active_connections, active_flows } = await api.get<RuleStats>(`/v1/rules/${ruleId}/stats`)
  return active_connections + active_flows
})

export const commands = [stats, summary]
export const fills = [liveTraffic]
