// Faults of a server, of a process of agents, and of the database. Each fault ends without help, except a clock step:
// the clock stays where it was set until the next step.
import { setTimeout as pause } from 'node:timers/promises'
import type { SettableClock } from '../support/settable-clock.ts'
import type { Fleet } from './agents.ts'
import type { Link } from './link.ts'
import type { Recorder } from './run-log.ts'
import { oneOf, type Server, type ServerPlace } from './server-place.ts'

/** A process that can be broken. Each fault resolves when it is over. */
export interface Victim {
  readonly name: string
  readonly faults: Readonly<Record<string, (forMs: number) => Promise<void>>>
}

interface Signals {
  signal(name: NodeJS.Signals): void
}

const startMs = 120_000

const stopped =
  ({ signal }: Signals) =>
  async (forMs: number): Promise<void> => {
    signal('SIGSTOP')
    await pause(forMs)
    signal('SIGCONT')
  }

/** Steps by minutes or hours, forward and back, but never so far that a record becomes a day old. */
async function step({ set }: SettableClock): Promise<void> {
  set(oneOf([60, -60]) * Math.ceil(Math.random() * oneOf([10, 360])))
}

export const serverVictim = (
  server: Server,
  {
    clock,
    database,
    agents
  }: { readonly clock: SettableClock; readonly database: Link; readonly agents: Link }
): Victim => ({
  name: `server ${server.id}`,
  faults: {
    async kill(forMs) {
      server.process().signal('SIGKILL')
      await server.process().exit
      await pause(forMs / 3)
      await startAgain(server)
    },
    pause: stopped({ signal: name => server.process().signal(name) }),
    'cut off the database': stopped(database),
    'cut off agents': stopped(agents),
    clock: () => step(clock)
  }
})

/** Restarts a server that has exited, until the run is over. */
export function supervise(server: Server, { add }: Recorder): { end(): void } {
  let isOver = false
  const watch = async (process = server.process()): Promise<void> => {
    const code = await process.exit
    if (!isOver && code !== 'SIGKILL' && process.count('server.started') > 0) {
      add({ kind: 'ended', server: server.id, code, at: performance.now() })
      await startAgain(server)
    }
    while (!isOver && server.process() === process) await pause(100)
    if (!isOver) await watch()
  }
  void watch()
  return {
    end() {
      isOver = true
    }
  }
}

/** Restarts a server like its supervisor does: it exits when its database is down. */
async function startAgain(server: Server): Promise<void> {
  const began = performance.now()
  for (;;) {
    try {
      return await server.restart()
    } catch (error) {
      if (performance.now() - began > startMs) throw error
      await server.process().exit
    }
  }
}

export const fleetVictim = (name: string, fleet: Fleet, clock: SettableClock): Victim => ({
  name,
  faults: {
    kill: forMs => fleet.kill(forMs / 3),
    pause: stopped(fleet),
    clock: () => step(clock),
    async 'kill of some agents'() {
      const ids = fleet.agents.map(({ clientId }) => clientId)
      await fleet.restart(ids.filter(() => Math.random() < 0.3))
    }
  }
})

export const databaseVictim = (place: ServerPlace, clock: SettableClock): Victim => ({
  name: 'database',
  faults: {
    async kill(forMs) {
      place.cluster.kill()
      await pause(forMs / 3)
      place.cluster.start()
    },
    pause: stopped({ signal: name => place.cluster.signal(name) }),
    clock: () => step(clock)
  }
})

export async function breakOne(
  { name: of, faults }: Victim,
  forMs: number,
  { add }: Recorder
): Promise<void> {
  const fault = oneOf(Object.keys(faults))
  const began = performance.now()
  await faults[fault]?.(forMs)
  add({ kind: 'fault', fault, of, began, ended: performance.now() })
}
