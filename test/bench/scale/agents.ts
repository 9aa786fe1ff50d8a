// Rows about connected agents: their return, memory, reports, and a change for all of them.
import { setTimeout } from 'node:timers/promises'
import { quantile } from '../seeded-server.ts'
import type { Bench } from './bench.ts'
import { callsMeanwhile } from './calls.ts'
import type { FleetOrder, Joined, Switched, Waits } from './fleet.ts'
import { cpuMsOf, residentMiB } from './processes.ts'

const grows = 'agents'
const roundMs = 5_000
const firstRoundMs = 30_000
const rounds = 3

const order = <A>({ fleet }: Bench, given: FleetOrder): Promise<A> => fleet.ask<A>(given)

export async function join(bench: Bench): Promise<Joined> {
  const { controlPort: port, fingerprint } = bench.server
  return order<Joined>(bench, { do: 'join', port, fingerprint })
}

/** To a server that has just started; each agent has what it should have. */
export async function returns(bench: Bench): Promise<void> {
  const { server, seeded, note } = bench
  const { agents, generation } = seeded
  await order(bench, { do: 'agents', agents, generation })
  const before = cpuMsOf(server.pid)
  const heldMiB = residentMiB(server.pid)
  let joined: Joined = { ms: 0, refused: 0, cpuMs: 0 }
  const waits = await callsMeanwhile(bench, server, async () => {
    joined = await join(bench)
  })
  const each = (value: number): number => value / agents.length
  note('a fleet returns: all are let in after', 'ms', grows, joined.ms)
  note('a fleet returns: a call of the API meanwhile, p99', 'ms', grows, quantile(waits, 0.99))
  note('a fleet returns: each agent', 'ms of CPU', grows, each(cpuMsOf(server.pid) - before))
  note('a fleet returns: its own process, each agent', 'ms of CPU', grows, each(joined.cpuMs))
  note('a fleet returns: handshakes refused', 'of an agent', grows, each(joined.refused))
  await setTimeout(roundMs) // what came with the return has been stored
  const connected = (residentMiB(server.pid) - heldMiB) * 1024
  note('a connected agent', 'KiB of memory', grows, each(connected))
}

export async function reports(bench: Bench): Promise<void> {
  const { server, note } = bench
  await order<Waits>(bench, { do: 'report', rounds: 1, everyMs: firstRoundMs }) // all rows are new
  const before = cpuMsOf(server.pid)
  const { waits } = await order<Waits>(bench, { do: 'report', rounds, everyMs: roundMs })
  const eachMs = (cpuMsOf(server.pid) - before) / waits.length // also right where the rounds took longer than they should
  note('a report of 15 rows', 'ms of CPU', grows, eachMs)
  note('reports of 15 rows every 5 s', 'of a core', grows, (eachMs * bench.seeded.agents.length) / roundMs)
  note('reports of 15 rows every 5 s: acknowledged, p99', 'ms', grows, quantile(waits, 0.99))
}

/** The switch "under attack" is turned on for all. */
export async function changeForAll(bench: Bench): Promise<void> {
  const { server, seeded, note } = bench
  const before = cpuMsOf(server.pid)
  const beganAt = Date.now()
  const began = performance.now()
  const waits = await callsMeanwhile(bench, server, async () => {
    const reply = await server.request('/v1/under-attack', { method: 'PUT', body: '{}' })
    if (!reply.ok) throw new Error(await reply.text())
    await reply.arrayBuffer()
  })
  const tookMs = performance.now() - began
  const { at } = await order<Switched>(bench, { do: 'switched' })
  const firstAt = at.reduce((least, one) => Math.min(least, one), Number.POSITIVE_INFINITY)
  note('a change for all agents: the first has it after', 'ms', grows, firstAt - beganAt)
  const sentMs = at.map(one => one - firstAt)
  note('a change for all agents: p99 has it, after the first', 'ms', grows, quantile(sentMs, 0.99))
  note('a change for all agents: the call is answered after', 'ms', grows, tookMs)
  note('a change for all agents: a call meanwhile, p99', 'ms', grows, quantile(waits, 0.99))
  const each = (cpuMsOf(server.pid) - before) / seeded.agents.length
  note('a change for all agents: each agent', 'ms of CPU', grows, each)
  note('a change for all agents: agents that have it', 'of all', grows, at.length / seeded.agents.length)
}

const restMs = 45_000 // three checks of the plugin `memory`

/** The agents leave, and come back before the server stops. */
export async function rest(bench: Bench, heldMiB: number): Promise<void> {
  const { server, note } = bench
  await order(bench, { do: 'leave' })
  await setTimeout(restMs)
  const leftMiB = residentMiB(server.pid)
  note('memory at rest, after all of this', 'MiB', 'users, clients, rules', leftMiB)
  note('memory at rest, more than after the start', 'MiB', 'users, clients, rules', leftMiB - heldMiB)
  await join(bench)
}
