// What the books say against what both ends saw.
import { monitorEventLoopDelay } from 'node:perf_hooks'
import type { Test } from 'tap'
import { cameIn, type Flow } from './ends.ts'
import { type Gap, pause, type Rule, type World } from './world.ts'

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

/** What came in a gap that the rule's agent has named, on what was begun before its end. */
const lostIn = (gaps: readonly Gap[], flow: Flow, { edge }: Rule): number =>
  cameIn(flow, ({ sinceMs, atMs }) =>
    gaps.some(gap => gap.clientId === edge.clientId && atMs >= gap.fromMs && sinceMs < gap.toMs)
  )

/** All that came, but for what came in a gap; and no more than was sent. */
function lacking(world: World, books: readonly Booked[]): string[] {
  const gaps = world.gaps()
  return books.flatMap(({ what, rules, ...booked }) =>
    ways.flatMap(way => {
      const of = (count: (flow: Flow, rule: Rule) => number): number =>
        rules.reduce((total, rule) => total + count(rule.route[way], rule), 0)
      const [came, lost, sent] = [
        of(flow => cameIn(flow)),
        of((...at) => lostIn(gaps, ...at)),
        of(f => f.sent)
      ]
      const found = booked[way]
      return found >= came - lost && found <= sent
        ? []
        : [`${what} ${way}: ${found} are booked; ${sent} were sent, ${came} came, ${lost} of them in gaps`]
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
  const gaps = world.gaps()
  const path = `/v1/users/${user}/traffic?client_id=${clientId}&bucket=1m&`
  const { samples } = await world.traffic(path, fromSecs)
  let booked = 0
  for (const { ts, bytes_in, bytes_out } of samples) {
    booked += bytes_in + bytes_out
    const edgeMs = ts * 1000 + minuteMs
    const lost = sum(rules, (...of) => lostIn(gaps, ...of))
    const least = sum(rules, flow => cameIn(flow, ({ atMs }) => atMs < edgeMs - tickMs - lateMs())) - lost
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
  const gaps = world.gaps()
  const { bytes_used } = await world.quota(pair)
  const { total_bytes_in, total_bytes_out } = await world.traffic(
    `/v1/users/${user}/traffic?client_id=${clientId}&`,
    fromSecs
  )
  const lost = sum(rules, (...of) => lostIn(gaps, ...of))
  const least = sum(rules, flow => cameIn(flow, ({ atMs }) => atMs >= fromMs + lateMs())) - lost
  const firstMs = Math.floor(fromMs / minuteMs) * minuteMs
  const earlier = sum(rules, flow => cameIn(flow, ({ atMs }) => atMs < firstMs - tickMs - lateMs())) - lost
  const most = total_bytes_in + total_bytes_out - Math.max(before, earlier)
  const is = bytes_used >= least && bytes_used <= most
  t.ok(is, `${user} has used ${bytes_used} of the new month: ${least} to ${most}`)
}
