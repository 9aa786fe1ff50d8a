// Rows about connected agents: their reconnect, memory and reports, and a change for all of them.
import { setTimeout } from 'node:timers/promises'
import { quantile } from '../seeded-server.ts'
import type { Bench } from './bench.ts'
import { callsMeanwhile } from './calls.ts'
import type { FleetOrder, ReconnectResult, SwitchTimes, Waits } from './fleet.ts'
import { cpuMsOf, residentMiB } from './processes.ts'

const grows = 'agents'
const roundMs = 5_000
const firstRoundMs = 30_000
const rounds = 3

const order = <A>({ fleet }: Bench, request: FleetOrder): Promise<A> => fleet.ask<A>(request)

export async function join(bench: Bench): Promise<ReconnectResult> {
  const { controlPort: port, fingerprint } = bench.server
  return order<ReconnectResult>(bench, { do: 'join', port, fingerprint })
}

/** All agents connect to a server that has just started. Each already has its rules. */
export async function reconnect(bench: Bench): Promise<void> {
  const { server, seeded, note } = bench
  const { agents, generation } = seeded
  await order(bench, { do: 'agents', agents, generation })
  const before = cpuMsOf(server.pid)
  const beforeMiB = residentMiB(server.pid)
  let joined: ReconnectResult = { ms: 0, refused: 0, cpuMs: 0 }
  const waits = await callsMeanwhile(bench, server, async () => {
    joined = await join(bench)
  })
  const each = (value: number): number => value / agents.length
  note('fleet reconnects: time until all are connected', 'ms', grows, joined.ms)
  note('fleet reconnects: concurrent API call, p99', 'ms', grows, quantile(waits, 0.99))
  note('fleet reconnects: server, per agent', 'ms of CPU', grows, each(cpuMsOf(server.pid) - before))
  note('fleet reconnects: fleet process, per agent', 'ms of CPU', grows, each(joined.cpuMs))
  note('fleet reconnects: refused handshakes', 'per agent', grows, each(joined.refused))
  await setTimeout(roundMs) // the server stores the results of the reconnect
  const connected = (residentMiB(server.pid) - beforeMiB) * 1024
  note('a connected agent', 'KiB of memory', grows, each(connected))
}

export async function reports(bench: Bench): Promise<void> {
  const { server, note } = bench
  await order<Waits>(bench, { do: 'report', rounds: 1, everyMs: firstRoundMs }) // all rows are new
  const before = cpuMsOf(server.pid)
  const { waits } = await order<Waits>(bench, { do: 'report', rounds, everyMs: roundMs })
  const eachMs = (cpuMsOf(server.pid) - before) / waits.length // also correct if the rounds are late
  note('a report of 15 rows', 'ms of CPU', grows, eachMs)
  note('reports of 15 rows every 5 s', 'cores', grows, (eachMs * bench.seeded.agents.length) / roundMs)
  note('reports of 15 rows every 5 s: acknowledged, p99', 'ms', grows, quantile(waits, 0.99))
}

/** Turns on the switch "under attack" for all clients. */
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
  const { at } = await order<SwitchTimes>(bench, { do: 'switched' })
  const firstAt = at.reduce((least, one) => Math.min(least, one), Number.POSITIVE_INFINITY)
  note('change for all agents: time until the first has it', 'ms', grows, firstAt - beganAt)
  const sentMs = at.map(one => one - firstAt)
  note('change for all agents: p99 after the first', 'ms', grows, quantile(sentMs, 0.99))
  note('change for all agents: response time', 'ms', grows, tookMs)
  note('change for all agents: concurrent API call, p99', 'ms', grows, quantile(waits, 0.99))
  const each = (cpuMsOf(server.pid) - before) / seeded.agents.length
  note('change for all agents: per agent', 'ms of CPU', grows, each)
  note('change for all agents: agents that have it', 'share', grows, at.length / seeded.agents.length)
}

const restMs = 45_000 // three checks of the plugin `memory`

/** Disconnects the agents, measures, and reconnects them. */
export async function idle(bench: Bench, startMiB: number): Promise<void> {
  const { server, note } = bench
  await order(bench, { do: 'leave' })
  await setTimeout(restMs)
  const endMiB = residentMiB(server.pid)
  note('idle memory at the end', 'MiB', 'users, clients, rules', endMiB)
  note('idle memory at the end, minus after the start', 'MiB', 'users, clients, rules', endMiB - startMiB)
  await join(bench)
}
