// What the books say against what both ends saw.
import { monitorEventLoopDelay } from 'node:perf_hooks'
import type { Test } from 'tap'
import { type Arrival, cameIn, type Flow } from './ends.ts'
import { pause, type Rule, type World } from './world.ts'

/** All rules that there ever were, those that are gone too; from when on. */
export interface Scope {
  readonly rules: readonly Rule[]
  readonly fromSecs: number
}

interface Booked {
  readonly what: string
  readonly rules: readonly Rule[]
  readonly in: number
  readonly out: number
}

const quietMs = 10_000
const tickMs = 1000 // what an agent counts in a second, it counts at its end
const minuteMs = 60_000
const ways = ['in', 'out'] as const

/** How late an end may have noted what came: as late as this process has ever been, and nobody else is quicker. */
const delay = monitorEventLoopDelay({ resolution: 10 })
delay.enable()
const lateMs = (): number => 100 + (2 * delay.max) / 1e6

export async function read(world: World, { rules: all, fromSecs }: Scope): Promise<Booked[]> {
  const books: Booked[] = []
  for (const rule of world.rules) {
    const { bytes_in, bytes_out } = await world.stats(rule)
    books.push({ what: `rule ${rule.id}`, rules: [rule], in: bytes_in, out: bytes_out })
  }
  async function add(path: string, isMeant: (rule: Rule) => boolean): Promise<void> {
    const { total_bytes_in, total_bytes_out } = await world.traffic(path, fromSecs)
    books.push({ what: path, rules: all.filter(isMeant), in: total_bytes_in, out: total_bytes_out })
  }
  for (const id of world.users) await add(`/v1/users/${id}/traffic?`, ({ owner }) => owner === id)
  for (const at of world.edges) await add(`/v1/clients/${at.clientId}/traffic?`, ({ edge }) => edge === at)
  await add('/v1/traffic/global?', () => true)
  return books
}

const sum = (rules: readonly Rule[], of: (flow: Flow, rule: Rule) => number): number =>
  rules.reduce((total, rule) => total + ways.reduce((part, way) => part + of(rule.route[way], rule), 0), 0)

/** Never more than was sent. */
export function refuseSurplus(t: Test, books: readonly Booked[]): void {
  for (const { what, rules, ...booked } of books)
    for (const way of ways) {
      const sent = rules.reduce((total, { route }) => total + route[way].sent, 0)
      if (booked[way] > sent) t.fail(`${what} ${way}: ${booked[way]} are booked, ${sent} were sent`)
    }
}

type Meant = (arrival: Arrival) => boolean

/** Counts what came outside of the gaps that its agent has named; in a gap is what was begun before its end, too. */
function counterOf(world: World) {
  const gaps = world.gaps()
  return (flow: Flow, { edge }: Rule, isMeant: Meant = () => true): number => {
    const mine = gaps.filter(({ clientId }) => clientId === edge.clientId)
    const isLost: Meant = ({ sinceMs, atMs }) => mine.some(gap => atMs >= gap.fromMs && sinceMs < gap.toMs)
    return cameIn(flow, arrival => isMeant(arrival) && !isLost(arrival))
  }
}

/** All that surely came; and no more than was sent. */
function lacking(world: World, books: readonly Booked[]): string[] {
  const surely = counterOf(world)
  return books.flatMap(({ what, rules, ...booked }) =>
    ways.flatMap(way => {
      const least = rules.reduce((total, rule) => total + surely(rule.route[way], rule), 0)
      const most = rules.reduce((total, { route }) => total + route[way].sent, 0)
      const found = booked[way]
      return found >= least && found <= most
        ? []
        : [`${what} ${way}: ${found} are booked, not ${least} to ${most}`]
    })
  )
}

/** Within ten seconds of quiet all of it is in the books. */
export async function balance(t: Test, world: World, scope: Scope, when: string): Promise<void> {
  for (const until = Date.now() + quietMs; ; await pause(250)) {
    const wrong = lacking(world, await read(world, scope))
    if (wrong.length > 0 && Date.now() < until) continue
    return void t.same(wrong, [], `${when}: the books are what came`)
  }
}

/** Of a pair's minutes: what is booked before each edge came before it, give or take the second that ends there. */
export async function compareMinutes(t: Test, world: World, { rules: all, fromSecs }: Scope, pair: Pair) {
  const { user, clientId } = pair
  const rules = all.filter(({ owner, edge }) => owner === user && edge.clientId === clientId)
  const surely = counterOf(world)
  const path = `/v1/users/${user}/traffic?client_id=${clientId}&bucket=1m&`
  const { samples } = await world.traffic(path, fromSecs)
  let booked = 0
  for (const { ts, bytes_in, bytes_out } of samples) {
    booked += bytes_in + bytes_out
    const edgeMs = ts * 1000 + minuteMs
    const wasBefore: Meant = ({ atMs }) => atMs < edgeMs - tickMs - lateMs()
    const least = sum(rules, (...of) => surely(...of, wasBefore))
    const most = sum(rules, flow => flow.sent - cameIn(flow, ({ atMs }) => atMs >= edgeMs + lateMs()))
    const is = booked >= least && booked <= most
    t.ok(is, `up to ${new Date(edgeMs).toISOString()} ${booked} are booked: ${least} to ${most}`)
  }
}

export interface Pair {
  readonly user: string
  readonly clientId: string
}

/**
 * The period that began at `fromMs`: all that came in it, and of what came in its first minute before it only what the
 * books did not have. `before` is what they had of the old period, read not later than it ended; 0 where nobody knows.
 */
export async function comparePeriod(
  t: Test,
  world: World,
  { rules: all, fromSecs }: Scope,
  { pair, fromMs, before }: { readonly pair: Pair; readonly fromMs: number; readonly before: number }
): Promise<void> {
  const { user, clientId } = pair
  const rules = all.filter(({ owner, edge }) => owner === user && edge.clientId === clientId)
  const surely = counterOf(world)
  const { bytes_used } = await world.quota(pair)
  const { total_bytes_in, total_bytes_out } = await world.traffic(
    `/v1/users/${user}/traffic?client_id=${clientId}&`,
    fromSecs
  )
  const least = sum(rules, (...of) => surely(...of, ({ atMs }) => atMs >= fromMs + lateMs()))
  const firstMs = Math.floor(fromMs / minuteMs) * minuteMs
  const wasEarlier: Meant = ({ atMs }) => atMs < firstMs - tickMs - lateMs()
  const earlier = sum(rules, (...of) => surely(...of, wasEarlier))
  const most = total_bytes_in + total_bytes_out - Math.max(before, earlier)
  const is = bytes_used >= least && bytes_used <= most
  t.ok(is, `${user} has used ${bytes_used} of the new month: ${least} to ${most}`)
}
