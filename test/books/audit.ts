// What the books say against what both ends saw.
import type { Test } from 'tap'
import type { QuotaRow } from '../../plugins/quota/schema.ts'
import type { Sample } from '../../plugins/traffic/samples.ts'
import { cameIn, type Flow } from './ends.ts'
import { pause, type Rule, type World } from './world.ts'

interface Booked {
  readonly what: string
  readonly rules: readonly Rule[]
  readonly in: number
  readonly out: number
}

const quietMs = 10_000
const lateMs = 2_000 // on a busy machine an end may note late what came in time

/** `rules`: all that there ever were, those that are gone too. */
export async function read(world: World, all: readonly Rule[], fromSecs: number): Promise<Booked[]> {
  const books: Booked[] = []
  const add = (what: string, rules: readonly Rule[], bytesIn: number, bytesOut: number) =>
    books.push({ what, rules, in: bytesIn, out: bytesOut })
  for (const rule of world.rules) {
    const { bytes_in, bytes_out } = await world.stats(rule)
    add(`rule ${rule.id}`, [rule], bytes_in, bytes_out)
  }
  async function addView(path: string, isMine: (rule: Rule) => boolean): Promise<void> {
    const { total_bytes_in, total_bytes_out } = await world.traffic(path, fromSecs)
    add(path, all.filter(isMine), total_bytes_in, total_bytes_out)
  }
  for (const id of world.users) await addView(`/v1/users/${id}`, ({ owner }) => owner === id)
  for (const at of world.edges) await addView(`/v1/clients/${at.clientId}`, ({ edge }) => edge === at)
  return books
}

const ways = ['in', 'out'] as const
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

/** All that came, but for what came in a gap that the agent has named; and no more than was sent. */
function lacking(world: World, books: readonly Booked[]): string[] {
  const gaps = world.gaps()
  const inGaps = (flow: Flow, rule: Rule): number =>
    gaps
      .filter(({ clientId }) => clientId === rule.edge.clientId)
      .reduce((total, { fromMs, toMs }) => total + cameIn(flow, fromMs, toMs + lateMs), 0)
  return books.flatMap(({ what, rules, ...booked }) =>
    ways.flatMap(way => {
      const of = (count: (flow: Flow, rule: Rule) => number): number =>
        rules.reduce((total, rule) => total + count(rule.route[way], rule), 0)
      const [least, most] = [of(flow => cameIn(flow)) - of(inGaps), of(flow => flow.sent)]
      const found = booked[way]
      return found >= least && found <= most
        ? []
        : [`${what} ${way}: ${found} are booked, not ${least} to ${most}`]
    })
  )
}

/** Within ten seconds of quiet all of it is in the books. */
export async function balance(
  t: Test,
  world: World,
  all: readonly Rule[],
  fromSecs: number,
  when: string
): Promise<void> {
  for (const until = Date.now() + quietMs; ; await pause(250)) {
    const wrong = lacking(world, await read(world, all, fromSecs))
    if (wrong.length > 0 && Date.now() < until) continue
    return void t.same(wrong, [], `${when}: the books are what came`)
  }
}

/** Of a client's minutes: what is booked before each edge came before it, give or take the second that ends there. */
export function compareMinutes(
  t: Test,
  world: World,
  all: readonly Rule[],
  clientId: string,
  samples: readonly Sample[]
): void {
  const rules = all.filter(({ edge }) => edge.clientId === clientId)
  const lost = world
    .gaps()
    .filter(gap => gap.clientId === clientId)
    .reduce((total, { fromMs, toMs }) => total + sum(rules, flow => cameIn(flow, fromMs, toMs + lateMs)), 0)
  const unsure = sum(rules, flow => flow.sent - cameIn(flow))
  let booked = 0
  for (const { ts, bytes_in, bytes_out } of samples) {
    booked += bytes_in + bytes_out
    const edgeMs = (ts + 60) * 1000
    const least = sum(rules, flow => cameIn(flow, 0, edgeMs - 1000 - lateMs)) - lost
    const most = sum(rules, flow => cameIn(flow, 0, edgeMs + lateMs)) + unsure
    const is = booked >= least && booked <= most
    t.ok(is, `up to ${new Date(edgeMs).toISOString()} ${booked} are booked: ${least} to ${most}`)
  }
}

/** The period that began at `boundarySecs`: a minute counts whole where it ends, unless it was booked before. */
export function comparePeriod(t: Test, world: World, all: readonly Rule[], row: QuotaRow): void {
  const rules = all.filter(({ owner, edge }) => owner === row.user_id && edge.clientId === row.client_id)
  const fromMs = row.period_start * 1000
  const minuteMs = Math.floor(fromMs / 60_000) * 60_000
  const lost = world
    .gaps()
    .filter(({ clientId }) => clientId === row.client_id)
    .reduce((total, gap) => total + sum(rules, flow => cameIn(flow, gap.fromMs, gap.toMs + lateMs)), 0)
  const least = sum(rules, flow => cameIn(flow, fromMs + lateMs)) - lost
  const most = sum(rules, flow => flow.sent - cameIn(flow, 0, minuteMs - 1000 - lateMs))
  const is = row.bytes_used >= least && row.bytes_used <= most
  t.ok(is, `${row.user_id} has used ${row.bytes_used} of the new month: ${least} to ${most}`)
}
