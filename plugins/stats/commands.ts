import { setTimeout } from 'node:timers/promises'
import { Type } from '../../kernel/cli/args.ts'
import { defineCommand } from '../../kernel/cli/command.ts'
import { formatRate } from '../http/command-exports.ts'
import { findRuleId, liveTrafficSlot, RuleArg } from '../rules/command-exports.ts'
import type { RuleStats } from './schema.ts'

const everyMs = 5_000

const stats = defineCommand({
  name: 'rule stats',
  summary: 'Show what a rule has forwarded so far.',
  args: Type.Object({
    rule: RuleArg,
    by: Type.Optional(
      Type.Union([Type.Literal('port'), Type.Literal('target'), Type.Literal('client')], {
        description: 'Show one row per port, target or client instead.'
      })
    ),
    watch: Type.Optional(
      Type.Boolean({
        description: 'Then print rates every 5 s: bit/s in and out, open and new connections.'
      })
    )
  }),
  positional: ['rule'],
  until: 'stopped',
  async run({ api, args: { rule, by, watch }, print, signal }) {
    const path = { rule_id: await findRuleId(api, rule) }
    const parts = { path, query: by ? { [`per_${by}`]: true } : {} }
    const read = async () => ({
      ...(await api.call('GET /v1/rules/{rule_id}/stats', parts)),
      at: performance.now()
    })
    const show = ({ at, ...stats }: Reading) => {
      if (by === 'port') print.data(stats.per_port ?? [])
      else if (by === 'target') print.data(stats.per_target ?? [])
      else if (by === 'client') print.data(stats.per_client ?? [], clientColumns)
      else print.data(stats)
    }
    let before = await read()
    show(before)
    while (watch && (await waited(everyMs, signal))) {
      const now = await read()
      if (by) show(now)
      else print.done(...toRates(before, now))
      before = now
    }
  }
})

interface Reading extends RuleStats {
  readonly at: number // ms
}

/** Returns the rates between two readings, as a line and as an object. */
export function toRates(
  { at: since, ...before }: Reading,
  { at, ...now }: Reading
): [text: string, result: object] {
  const perSec = (count: number): number => Math.max(0, Math.round((count * 1000) / (at - since)))
  const bps_in = perSec(8 * (now.bytes_in - before.bytes_in))
  const bps_out = perSec(8 * (now.bytes_out - before.bytes_out))
  const added = now.connections_total - before.connections_total
  const open = now.active_connections + now.active_flows
  const text = `in ${formatRate(bps_in).padEnd(12)}  out ${formatRate(bps_out).padEnd(12)}  open ${open}  new ${added}`
  return [text, { ...now, bps_in, bps_out, new_connections: added }]
}

const clientColumns = [
  'client_name',
  'bytes_in',
  'bytes_out',
  'active_connections',
  'active_flows',
  'connections_total'
]

/** Resolves to false if the signal aborts the wait. */
const waited = (ms: number, signal: AbortSignal): Promise<boolean> =>
  setTimeout(ms, true, { signal }).catch(() => false)

const summary = defineCommand({
  name: 'stats summary',
  summary: 'Show the number of clients and rules, and their traffic.',
  run: async ({ api, print }) => print.data(await api.call('GET /v1/stats/summary'))
})

const liveTraffic = liveTrafficSlot.fill(async (ruleId, api) => {
  const { active_connections, active_flows } = await api.get<RuleStats>(`/v1/rules/${ruleId}/stats`)
  return active_connections + active_flows
})

export const commands = [stats, summary]
export const fills = [liveTraffic]
