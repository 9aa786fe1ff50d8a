// The fleet, as the parts of the run use it.
import { type Helper, startHelper } from '../bench/scale/processes.ts'
import type { Arrivals, FleetOrder, Where } from './fleet.ts'
import { type Agent, type Place, until } from './place.ts'

export interface Fleet {
  readonly agents: readonly Agent[]
  /** How many agents each server has, by its id; 'none' are those without a server. */
  where(): Promise<ReadonlyMap<string, readonly string[]>>
  leave(port: number): Promise<void>
  arrivals(): Promise<Arrivals>
}

const ask = <A>(helper: Helper, order: FleetOrder): Promise<A> => helper.ask<A>(order)
const joinMs = 300_000

/** Starts agents, and waits until all are connected. */
export async function startFleet(place: Place, count: number): Promise<Fleet> {
  const helper = startHelper('../../servers/fleet.ts')
  place.teardown(() => helper.end())
  const agents = await place.addClients(count)
  const [ports, ids] = [
    place.servers.map(({ controlPort }) => controlPort),
    new Map(place.servers.map(({ id, controlPort }) => [controlPort, id]))
  ]
  const fingerprint = place.servers[0]?.fingerprint() ?? ''
  await ask(helper, { do: 'begin', agents, ports, fingerprint })
  const fleet: Fleet = {
    agents,
    async where() {
      const { ports: of } = await ask<Where>(helper, { do: 'where' })
      return Map.groupBy(
        agents.map(({ clientId }) => clientId),
        clientId => ids.get(of[clientId] ?? 0) ?? 'none'
      )
    },
    leave: port => ask(helper, { do: 'leave', port }),
    arrivals: () => ask(helper, { do: 'arrivals' })
  }
  const last = await allConnected(fleet, joinMs)
  if (last.has('none')) throw new Error(`${last.get('none')?.length} agents were not let in`)
  return fleet
}

/** Waits until each agent has a server. */
export const allConnected = (fleet: Fleet, withinMs: number) =>
  until(fleet.where, where => !where.has('none'), { withinMs, everyMs: 100 })

export const distribution = (where: ReadonlyMap<string, readonly string[]>): string =>
  [...where]
    .map(([id, ids]) => `${id} ${ids.length}`)
    .toSorted()
    .join(', ')
