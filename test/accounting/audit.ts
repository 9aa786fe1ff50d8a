// Compares the counted bytes with what both ends of every connection saw.
import { monitorEventLoopDelay } from 'node:perf_hooks'
import type { Test } from 'tap'
import { type Arrival, arrivedBytes, type Flow } from './ends.ts'
import { pause, type Rule, type World } from './world.ts'

/** All rules of the test, deleted ones included, and its start. */
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

const quietMs = 10_000
const tickMs = 1000 // an agent counts the bytes of a second at its end
const minuteMs = 60_000
const directions = ['in', 'out'] as const

/** The longest delay with which an end may have recorded an arrival: that of this process's event loop. */
const delay = monitorEventLoopDelay({ resolution: 10 })
delay.enable()
const lateMs = (): number => 100 + (2 * delay.max) / 1e6

export async function read(world: World, { rules: all, fromSecs }: Scope): Promise<Counted[]> {
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
  for (const at of world.edges) await add(`/v1/clients/${at.clientId}/traffic?`, ({ edge }) => edge === at)
  await add('/v1/traffic/global?', () => true)
  return counted
}

const sum = (rules: readonly Rule[], of: (flow: Flow, rule: Rule) => number): number =>
  rules.reduce(
    (total, rule) => total + directions.reduce((part, way) => part + of(rule.route[way], rule), 0),
    0
  )

/** Never more bytes are counted than were sent. */
export function checkNoSurplus(t: Test, counts: readonly Counted[]): void {
  for (const { what, rules, ...counted } of counts)
    for (const way of directions) {
      const sent = rules.reduce((total, { route }) => total + route[way].sent, 0)
      if (counted[way] > sent) t.fail(`${what} ${way}: ${counted[way]} are counted, ${sent} were sent`)
    }
}

type Filter = (arrival: Arrival) => boolean

/** Counts arrivals outside the gaps that the agent reported. A transfer that began before the end of a gap is in it. */
function counterOf(world: World) {
  const gaps = world.gaps()
  return (flow: Flow, { edge }: Rule, matches: Filter = () => true): number => {
    const mine = gaps.filter(({ clientId }) => clientId === edge.clientId)
    const isLost: Filter = ({ sinceMs, atMs }) => mine.some(gap => atMs >= gap.fromMs && sinceMs < gap.toMs)
    return arrivedBytes(flow, arrival => matches(arrival) && !isLost(arrival))
  }
}

/** Counters that are below what certainly arrived, or above what was sent. */
function mismatches(world: World, counts: readonly Counted[]): string[] {
  const certain = counterOf(world)
  return counts.flatMap(({ what, rules, ...counted }) =>
    directions.flatMap(way => {
      const least = rules.reduce((total, rule) => total + certain(rule.route[way], rule), 0)
      const most = rules.reduce((total, { route }) => total + route[way].sent, 0)
      const found = counted[way]
      return found >= least && found <= most
        ? []
        : [`${what} ${way}: ${found} are counted, not ${least} to ${most}`]
    })
  )
}

/** Waits at most ten seconds until everything is counted. */
export async function compareTotals(t: Test, world: World, scope: Scope, when: string): Promise<void> {
  for (const until = Date.now() + quietMs; ; await pause(250)) {
    const wrong = mismatches(world, await read(world, scope))
    if (wrong.length > 0 && Date.now() < until) continue
    return void t.same(wrong, [], `${when}: all arrived bytes are counted`)
  }
}

/** Bytes counted before the end of each minute of a pair arrived before it, give or take one second. */
export async function compareMinutes(t: Test, world: World, { rules: all, fromSecs }: Scope, pair: Pair) {
  const { user, clientId } = pair
  const rules = all.filter(({ owner, edge }) => owner === user && edge.clientId === clientId)
  const certain = counterOf(world)
  const path = `/v1/users/${user}/traffic?client_id=${clientId}&bucket=1m&`
  const { samples } = await world.traffic(path, fromSecs)
  let counted = 0
  for (const { ts, bytes_in, bytes_out } of samples) {
    counted += bytes_in + bytes_out
    const edgeMs = ts * 1000 + minuteMs
    const wasBefore: Filter = ({ atMs }) => atMs < edgeMs - tickMs - lateMs()
    const least = sum(rules, (...of) => certain(...of, wasBefore))
    const most = sum(rules, flow => flow.sent - arrivedBytes(flow, ({ atMs }) => atMs >= edgeMs + lateMs()))
    const is = counted >= least && counted <= most
    t.ok(is, `up to ${new Date(edgeMs).toISOString()} ${counted} are counted: ${least} to ${most}`)
  }
}

export interface Pair {
  readonly user: string
  readonly clientId: string
}

/**
 * The quota of the period that began at `fromMs` counts all bytes that arrived in it. Of its first minute, it also counts
 * earlier bytes that were not committed. `before` is the usage of the old period, read before its end; 0 if unknown.
 */
export async function comparePeriod(
  t: Test,
  world: World,
  { rules: all, fromSecs }: Scope,
  { pair, fromMs, before }: { readonly pair: Pair; readonly fromMs: number; readonly before: number }
): Promise<void> {
  const { user, clientId } = pair
  const rules = all.filter(({ owner, edge }) => owner === user && edge.clientId === clientId)
  const certain = counterOf(world)
  const { bytes_used } = await world.quota(pair)
  const { total_bytes_in, total_bytes_out } = await world.traffic(
    `/v1/users/${user}/traffic?client_id=${clientId}&`,
    fromSecs
  )
  const least = sum(rules, (...of) => certain(...of, ({ atMs }) => atMs >= fromMs + lateMs()))
  const firstMs = Math.floor(fromMs / minuteMs) * minuteMs
  const wasEarlier: Filter = ({ atMs }) => atMs < firstMs - tickMs - lateMs()
  const earlier = sum(rules, (...of) => certain(...of, wasEarlier))
  const most = total_bytes_in + total_bytes_out - Math.max(before, earlier)
  const is = bytes_used >= least && bytes_used <= most
  t.ok(is, `${user} has used ${bytes_used} of the new month: ${least} to ${most}`)
}
