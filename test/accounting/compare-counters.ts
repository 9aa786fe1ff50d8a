// Compares the counted bytes with the bytes that both ends of every connection saw.
import { monitorEventLoopDelay } from 'node:perf_hooks'
import type { Test } from 'tap'
import { type Arrival, arrivedBytes, type Flow } from './tcp-route.ts'
import { pause, type Rule, type World } from './world.ts'

/** All rules of the test, including deleted ones, and its start. */
export interface Scope {
  readonly rules: readonly Rule[]
  readonly fromSecs: number
}

interface Counted {
  readonly what: string
  readonly rules: readonly Rule[]
  readonly in: number
  readonly out: number
}

const timeoutMs = 10_000
const tickMs = 1000 // an agent counts the bytes of each second when it ends
const minuteMs = 60_000
const directions = ['in', 'out'] as const

/** The event loop of this process delays the recording of arrivals. */
const delay = monitorEventLoopDelay({ resolution: 10 })
delay.enable()
const maxDelayMs = (): number => 100 + (2 * delay.max) / 1e6

export async function readCounters(world: World, { rules: all, fromSecs }: Scope): Promise<Counted[]> {
  const counted: Counted[] = []
  for (const rule of world.rules) {
    const { bytes_in, bytes_out } = await world.stats(rule)
    counted.push({ what: `rule ${rule.id}`, rules: [rule], in: bytes_in, out: bytes_out })
  }
  async function add(path: string, matches: (rule: Rule) => boolean): Promise<void> {
    const { total_bytes_in, total_bytes_out } = await world.traffic(path, fromSecs)
    counted.push({ what: path, rules: all.filter(matches), in: total_bytes_in, out: total_bytes_out })
  }
  for (const id of world.users) await add(`/v1/users/${id}/traffic?`, ({ owner }) => owner === id)
  for (const client of world.edges)
    await add(`/v1/clients/${client.clientId}/traffic?`, ({ edge }) => edge === client)
  await add('/v1/traffic/global?', () => true)
  return counted
}

const sum = (rules: readonly Rule[], bytesOf: (flow: Flow, rule: Rule) => number): number =>
  rules
    .flatMap(rule => directions.map(direction => bytesOf(rule.route[direction], rule)))
    .reduce((total, bytes) => total + bytes, 0)

/** Checks that no more bytes are counted than were sent. */
export function checkNoSurplus(t: Test, counts: readonly Counted[]): void {
  for (const { what, rules, ...counted } of counts)
    for (const direction of directions) {
      const sent = rules.reduce((total, { route }) => total + route[direction].sent, 0)
      if (counted[direction] > sent)
        t.fail(`${what} ${direction}: counted ${counted[direction]} bytes, sent ${sent}`)
    }
}

type Filter = (arrival: Arrival) => boolean

/** Returns a function that sums the bytes that arrived outside reported gaps. These bytes must be counted. */
function leastBytesOf(world: World) {
  const gaps = world.gaps()
  return (flow: Flow, { edge }: Rule, matches: Filter = () => true): number => {
    const edgeGaps = gaps.filter(({ clientId }) => clientId === edge.clientId)
    const isInGap: Filter = ({ sinceMs, atMs }) =>
      edgeGaps.some(gap => atMs >= gap.fromMs && sinceMs < gap.toMs)
    return arrivedBytes(flow, arrival => matches(arrival) && !isInGap(arrival))
  }
}

/** Describes counters below the bytes that arrived outside gaps, or above the sent bytes. */
function mismatches(world: World, counts: readonly Counted[]): string[] {
  const leastOf = leastBytesOf(world)
  return counts.flatMap(({ what, rules, ...counted }) =>
    directions.flatMap(direction => {
      const least = rules.reduce((total, rule) => total + leastOf(rule.route[direction], rule), 0)
      const most = rules.reduce((total, { route }) => total + route[direction].sent, 0)
      const found = counted[direction]
      return found >= least && found <= most
        ? []
        : [`${what} ${direction}: counted ${found} bytes, expected ${least} to ${most}`]
    })
  )
}

/** Waits at most ten seconds until all bytes are counted. */
export async function compareTotals(t: Test, world: World, scope: Scope, when: string): Promise<void> {
  for (const until = Date.now() + timeoutMs; ; await pause(250)) {
    const wrong = mismatches(world, await readCounters(world, scope))
    if (wrong.length > 0 && Date.now() < until) continue
    return void t.same(wrong, [], `${when}: all arrived bytes are counted`)
  }
}

/** Checks that the bytes counted by the end of each minute arrived before it, within one second. */
export async function compareMinutes(t: Test, world: World, { rules: all, fromSecs }: Scope, pair: Pair) {
  const { user, clientId } = pair
  const rules = all.filter(({ owner, edge }) => owner === user && edge.clientId === clientId)
  const leastOf = leastBytesOf(world)
  const path = `/v1/users/${user}/traffic?client_id=${clientId}&bucket=1m&`
  const { samples } = await world.traffic(path, fromSecs)
  let counted = 0
  for (const { ts, bytes_in, bytes_out } of samples) {
    counted += bytes_in + bytes_out
    const endMs = ts * 1000 + minuteMs
    const wasBefore: Filter = ({ atMs }) => atMs < endMs - tickMs - maxDelayMs()
    const least = sum(rules, (flow, rule) => leastOf(flow, rule, wasBefore))
    const most = sum(
      rules,
      flow => flow.sent - arrivedBytes(flow, ({ atMs }) => atMs >= endMs + maxDelayMs())
    )
    const isWithin = counted >= least && counted <= most
    t.ok(
      isWithin,
      `up to ${new Date(endMs).toISOString()} ${counted} are counted, expected ${least} to ${most}`
    )
  }
}

export interface Pair {
  readonly user: string
  readonly clientId: string
}

/**
 * Checks that the quota of the period that began at `fromMs` counts all bytes that arrived in it. It may also count
 * earlier bytes of its first minute that were uncommitted. `before`: usage just before the end of the old period, or 0.
 */
export async function comparePeriod(
  t: Test,
  world: World,
  { rules: all, fromSecs }: Scope,
  { pair, fromMs, before }: { readonly pair: Pair; readonly fromMs: number; readonly before: number }
): Promise<void> {
  const { user, clientId } = pair
  const rules = all.filter(({ owner, edge }) => owner === user && edge.clientId === clientId)
  const leastOf = leastBytesOf(world)
  const { bytes_used } = await world.quota(pair)
  const { total_bytes_in, total_bytes_out } = await world.traffic(
    `/v1/users/${user}/traffic?client_id=${clientId}&`,
    fromSecs
  )
  const isInPeriod: Filter = ({ atMs }) => atMs >= fromMs + maxDelayMs()
  const least = sum(rules, (flow, rule) => leastOf(flow, rule, isInPeriod))
  const firstMs = Math.floor(fromMs / minuteMs) * minuteMs
  const wasEarlier: Filter = ({ atMs }) => atMs < firstMs - tickMs - maxDelayMs()
  const earlier = sum(rules, (flow, rule) => leastOf(flow, rule, wasEarlier))
  const most = total_bytes_in + total_bytes_out - Math.max(before, earlier)
  const isWithin = bytes_used >= least && bytes_used <= most
  t.ok(isWithin, `${user} has used ${bytes_used} of the new month, expected ${least} to ${most}`)
}
