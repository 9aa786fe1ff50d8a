import { type AgentCall, defineCommand } from '../../../agent/plugin.ts'
import type { AgentLink } from './link.ts'

const rounded = (ms: number | undefined): number | null =>
  ms === undefined ? null : Math.round(ms * 100) / 100

/** `sluice agent links`: the links of this host. */
export const linksCommand = (linksOf: (call: AgentCall) => readonly AgentLink[]) =>
  defineCommand({
    name: 'links',
    summary: 'Show the links of this agent.',
    run: ({ call }) =>
      linksOf(call).map(link => ({
        link_id: link.config.id,
        peer: link.config.peer_name,
        side: link.config.side,
        role: link.role,
        state: link.state,
        reason: link.reason,
        rtt_ms: rounded(link.meter.roundTrips()?.last),
        open: link.openCount,
        idle: link.idleCount,
        bytes_in: link.counts.up,
        bytes_out: link.counts.down
      }))
  })
