// Fleets of scripted agents for the parts of a run.
import { setTimeout as pause } from 'node:timers/promises'
import { type Helper, startHelper } from '../bench/scale/processes.ts'
import type { Arrivals, FleetOrder, FleetState, Where } from './fleet.ts'
import { type Agent, type ServerPlace, until } from './server-place.ts'

export interface Fleet {
  readonly agents: readonly Agent[]
  /** The agents of each server, by server id; 'none' are the agents without a server. */
  where(): Promise<ReadonlyMap<string, readonly string[]>>
  arrivals(): Promise<Arrivals>
  /** Some agents end as if killed, and start again. */
  restart(clientIds: readonly string[]): Promise<void>
  /** If true, the agents count bytes of their rules. */
  count(more: boolean): Promise<void>
  state(): Promise<FleetState>
  signal(name: NodeJS.Signals): void
  /** Kills the process and restarts it after a while, with the same state if it is in a file. */
  kill(restMs: number): Promise<void>
}

interface Options {
  readonly first?: number // of the addresses of the agents
  readonly ports?: ReadonlyMap<number, string> // the ports that reach each server
  readonly env?: Readonly<Record<string, string>>
  readonly stateFile?: string
}

const joinMs = 300_000

/** Starts agents in a process and waits until all are connected. */
export async function startFleet(place: ServerPlace, count: number, options: Options = {}): Promise<Fleet> {
  const serverPorts = new Map(place.servers.map(({ id, controlPort }) => [controlPort, id]))
  const { first = 0, ports: ids = serverPorts, env = {}, stateFile = '' } = options
  const agents = await place.addClients(count)
  const ports = [...ids.keys()]
  const fingerprint = place.servers[0]?.fingerprint() ?? ''
  let helper: Helper
  let isCounting = false
  const ask = <A>(order: FleetOrder): Promise<A> => helper.ask<A>(order)
  const begin = async (): Promise<void> => {
    helper = startHelper('../../servers/fleet.ts', env)
    await ask({ do: 'begin', agents, first, ports, fingerprint, stateFile })
    await ask({ do: 'count', more: isCounting })
  }
  await begin()
  place.teardown(() => helper.end())
  const fleet: Fleet = {
    agents,
    async where() {
      const { ports: of } = await ask<Where>({ do: 'where' })
      return Map.groupBy(
        agents.map(({ clientId }) => clientId),
        clientId => ids.get(of[clientId] ?? 0) ?? 'none'
      )
    },
    arrivals: () => ask({ do: 'arrivals' }),
    restart: clientIds => ask({ do: 'restart', clientIds }),
    async count(more) {
      isCounting = more
      await ask({ do: 'count', more })
    },
    state: () => ask({ do: 'state' }),
    signal: name => helper.signal(name),
    async kill(restMs) {
      await helper.end()
      await pause(restMs)
      await begin()
    }
  }
  const last = await allConnected(fleet, joinMs)
  if (last.has('none')) throw new Error(`${last.get('none')?.length} agents were not let in`)
  return fleet
}

/** Combines several fleets. */
export function whereAll(fleets: readonly Fleet[]): Fleet['where'] {
  return async () => {
    const found = await Promise.all(fleets.map(({ where }) => where()))
    const rows = found.flatMap(where => [...where])
    return new Map(
      [...Map.groupBy(rows, ([id]) => id)].map(([id, all]) => [id, all.flatMap(([, ids]) => ids)])
    )
  }
}

/** Waits until each agent has a server. */
export const allConnected = ({ where }: Pick<Fleet, 'where'>, withinMs: number) =>
  until(where, where => !where.has('none'), { withinMs, everyMs: 100 })

export const distribution = (where: ReadonlyMap<string, readonly string[]>): string =>
  [...where]
    .map(([id, ids]) => `${id} ${ids.length}`)
    .toSorted()
    .join(', ')
