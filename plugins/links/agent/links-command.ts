import { Type } from 'typebox'
import { type AgentCall, defineCommand, type StatusRow } from '../../../agent/plugin.ts'
import type { AgentLink } from './link.ts'

const retryMs = 6_000 // of the 10 s of a command

const rounded = (ms: number | undefined): number | null =>
  ms === undefined ? null : Math.round(ms * 100) / 100

/** The links in `sluice agent status`: those that do not work first. */
export const linkStatus = (links: readonly AgentLink[]): StatusRow[] =>
  links
    .toSorted((a, b) => Number(a.state === 'up') - Number(b.state === 'up'))
    .map(({ config, state, reason, meter }) => ({
      peer: config.peer_name,
      side: config.side,
      state,
      reason,
      rtt_ms: rounded(meter.roundTrips()?.last)
    }))

/** Lets the links that are down try again, all at once, for at most 6 s. */
async function retry(links: readonly AgentLink[], { clock }: AgentCall): Promise<void> {
  const { promise: late, resolve } = Promise.withResolvers<void>()
  const cancel = clock.after(retryMs, resolve)
  await Promise.race([Promise.all(links.map(link => link.retry())), late])
  void cancel()
}

/** `sluice agent links`: the links of this host. */
export const linksCommand = (linksOf: (call: AgentCall) => readonly AgentLink[]) =>
  defineCommand({
    name: 'links',
    summary: 'Show the links of this agent.',
    args: Type.Object({
      retry: Type.Optional(Type.Boolean({ description: 'Let links that are down try again first.' }))
    }),
    async run({ args, call }) {
      const links = linksOf(call)
      if (args['retry'] === true) await retry(links, call)
      return links.map(link => ({
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
    }
  })
