// Finds rules that forward to each other in a circle, over the agents of several clients.

/** An active rule on one client. */
export interface ListeningRule {
  readonly id: string
  readonly shownId: string // for a member: the id of its group rule
  readonly clientId: string
  readonly owner: string
  readonly protocol: string
  readonly from: number
  readonly to: number
  readonly targets: readonly {
    readonly host: string
    readonly port: number
    readonly path?: readonly string[] // ids of clients; the last one dials the target
  }[]
  readonly name: string | null // its TLS server name or wildcard; null: takes any
  readonly isFallback: boolean // takes names that no other rule on its port has
}

interface PortSpan {
  readonly from: number
  readonly to: number
}

export interface RuleGraph {
  /** Returns rules of the same protocol that listen on one of these ports of the host, as the client sees it. */
  listening(
    from: Pick<ListeningRule, 'clientId' | 'protocol'>,
    host: string,
    ports: PortSpan
  ): Promise<readonly ListeningRule[]>
}

/** Bounds of one look-up; the rest is not searched. */
export const lookUpBounds = { maxClients: 64, maxRules: 32 } as const

const maxHops = 8
const maxLookUps = 64 // for one rule, which may have many targets on many clients

/** A way of a connection from the first rule. */
interface Way {
  readonly rules: readonly ListeningRule[]
  readonly ports: PortSpan // of the first rule: connections to them go this way
  readonly shift: number // from a port of the first rule to the port of the last one
  readonly name: string | null // its TLS server name; null: any
  readonly excluded: readonly string[] // names that other rules take from a fallback on the way
}

/** Returns the shortest circle of at most 8 rules through this rule, which it begins with, or null. */
export async function findCircle(
  start: ListeningRule,
  graph: RuleGraph
): Promise<readonly ListeningRule[] | null> {
  const { from, to, name } = start
  const ways: Way[] = [{ rules: [start], ports: { from, to }, shift: 0, name, excluded: [] }]
  let lookUps = 0
  const counted: RuleGraph = {
    listening: async (...step) => (++lookUps > maxLookUps ? [] : graph.listening(...step))
  }
  for (let at = 0; at < ways.length && lookUps < maxLookUps; at += 1) {
    const way = ways[at]
    for (const next of way ? await followingWays(way, counted) : [])
      if (next.rules.at(-1)?.id !== start.id) ways.push(next)
      else if (next.shift === 0) return next.rules.slice(0, -1)
  }
  return null
}

/** Returns the ways that are one rule longer. A rule occurs once in a way; only the first may end it. */
async function followingWays(way: Way, graph: RuleGraph): Promise<Way[]> {
  const last = way.rules.at(-1)
  if (!last) return []
  const ways: Way[] = []
  for (const { host, port, path } of last.targets) {
    const shift = way.shift + port - last.from
    const ports = { from: way.ports.from + shift, to: way.ports.to + shift }
    const dialer = { protocol: last.protocol, clientId: path?.at(-1) ?? last.clientId }
    const found = await graph.listening(dialer, host, ports)
    for (const next of found) {
      const known = way.rules.findIndex(({ id }) => id === next.id)
      if (known > 0 || (known < 0 && way.rules.length >= maxHops)) continue
      const longer = follow({ ...way, shift }, next, found)
      if (longer) ways.push(longer)
    }
  }
  return ways
}

/** Returns the way with this rule, or null if no connection on the way can reach it. */
function follow(way: Way, next: ListeningRule, found: readonly ListeningRule[]): Way | null {
  const name = narrower(way.name, next.name)
  const excluded = next.isFallback ? [...way.excluded, ...namesBeside(next, found)] : way.excluded
  if (name === undefined || (name !== null && excluded.some(other => isTakenBy(name, other)))) return null
  const { shift } = way
  const from = Math.max(way.ports.from, next.from - shift)
  const to = Math.min(way.ports.to, next.to - shift)
  return from > to ? null : { rules: [...way.rules, next], ports: { from, to }, shift, name, excluded }
}

const namesBeside = (fallback: ListeningRule, found: readonly ListeningRule[]): string[] =>
  found.flatMap(({ clientId, name }) => (clientId === fallback.clientId && name !== null ? [name] : []))

/** True if a caller with the name reaches the other pattern, which can be a wildcard such as *.example.org. */
const isTakenBy = (name: string, other: string): boolean =>
  name === other || (other.startsWith('*.') && name.slice(name.indexOf('.')) === other.slice(1))

/** Returns the names that both allow; undefined: none. */
function narrower(a: string | null, b: string | null): string | null | undefined {
  if (a === null || b === null) return a ?? b
  if (isTakenBy(a, b)) return a
  return isTakenBy(b, a) ? b : undefined
}
