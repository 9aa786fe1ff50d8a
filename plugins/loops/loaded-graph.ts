// Rules in memory as a graph, for a check of the whole fleet.
import { isLoopback } from '../../kernel/platform/network.ts'
import { type ListeningRule, lookUpBounds, type RuleGraph } from './circle.ts'

export interface ClientHost {
  readonly id: string
  readonly address: string | null
  readonly remoteAddr: string | null // last observed address of its agent
}

export function loadedGraph(clients: readonly ClientHost[], rules: readonly ListeningRule[]): RuleGraph {
  const byId = new Map(clients.map(client => [client.id, client]))
  const byAddress = Map.groupBy(clients, ({ address }) => address)
  const byRemote = Map.groupBy(clients, ({ remoteAddr }) => remoteAddr)
  const sorted = Map.groupBy(
    rules.toSorted((a, b) => a.from - b.from),
    keyOf
  )
  const ranges = Map.groupBy(
    rules.filter(({ from, to }) => from < to),
    keyOf
  )

  /** Returns clients that have the host, and clients with the same observed address. */
  function clientsAt(clientId: string, host: string): Set<string> {
    const own = byId.get(clientId)
    const matched = isLoopback(host)
      ? own
        ? [own]
        : []
      : [byAddress, byRemote].flatMap(by => (by.get(host) ?? []).slice(0, lookUpBounds.maxClients))
    const observed = new Set(matched.map(({ remoteAddr }) => remoteAddr))
    const beside = [...observed].flatMap(remoteAddr =>
      remoteAddr === null ? [] : (byRemote.get(remoteAddr) ?? []).slice(0, lookUpBounds.maxClients)
    )
    return new Set([...matched, ...beside].slice(0, lookUpBounds.maxClients).map(({ id }) => id))
  }

  return {
    async listening({ clientId, protocol }, host, { from, to }) {
      const found = [...clientsAt(clientId, host)].flatMap(clientId => {
        const key = keyOf({ clientId, protocol })
        const earlier = (ranges.get(key) ?? []).filter(rule => rule.from < from && rule.to >= from)
        return [...earlier, ...within(sorted.get(key) ?? [], from, to)]
      })
      return found.slice(0, lookUpBounds.maxRules)
    }
  }
}

const keyOf = ({ clientId, protocol }: Pick<ListeningRule, 'clientId' | 'protocol'>): string =>
  `${clientId} ${protocol}`

/** Returns the rules that begin between two ports, from rules in the order of their ports. */
function within(rules: readonly ListeningRule[], from: number, to: number): readonly ListeningRule[] {
  const countBelow = (port: number): number => {
    let low = 0
    for (let high = rules.length; low < high; ) {
      const middle = (low + high) >> 1
      if ((rules[middle]?.from ?? 0) < port) low = middle + 1
      else high = middle
    }
    return low
  }
  return rules.slice(countBelow(from), countBelow(to + 1))
}
