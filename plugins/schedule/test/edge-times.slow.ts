// Rules open and close at their times on real edges, at both daylight saving changes. Covers a running server and a stopped
// one, a clock that is set by a day while the edge runs, and a start with a wrong clock. Each rule must change once and not
// early; the test prints the delays. By default one change runs without the server and the other with it.
// `EDGE_TIMES=all` runs both changes both ways.
import { once } from 'node:events'
import { connect } from 'node:net'
import { setTimeout as after } from 'node:timers/promises'
import t, { type Test } from 'tap'
import { engines } from '../../../test/matrix/world.ts'
import { freePort } from '../../../test/support/ports.ts'
import { type SettableClock, settableClock } from '../../../test/support/settable-clock.ts'
import {
  type RunningAgent,
  startAgent,
  type TestCluster,
  testCluster
} from '../../../test/support/test-cluster.ts'

const leadMs = 30_000 // from the start of the server to the turn
const watchedMs = 3000 // after it
const host = '127.0.0.1'
const dayNames = ['sun', 'mon', 'tue', 'wed', 'thu', 'fri', 'sat'] as const

/** A rule's times, and if it is open before and after the clock change. */
interface Case {
  readonly times: (turn: number) => object
  readonly opens: readonly [before: boolean, after: boolean]
}

const within =
  (from: string, to: string): Case['times'] =>
  turn => ({
    schedule: {
      time_zone: 'Europe/Berlin',
      windows: [{ days: [dayNames[new Date(turn).getUTCDay()]], from, to }]
    }
  })

const instants: Record<string, Case> = {
  expires_at: { times: turn => ({ expires_at: new Date(turn).toISOString() }), opens: [true, false] },
  not_before: { times: turn => ({ not_before: new Date(turn).toISOString() }), opens: [false, true] }
}

/** The clocks of Berlin change at 01:00 UTC: from 02:00 to 03:00, or from 03:00 back to 02:00. */
const turns = {
  spring: {
    at: Date.parse('2026-03-29T01:00:00Z'),
    cases: {
      ...instants,
      'to 02:00': { times: within('01:00', '02:00'), opens: [true, false] },
      'to 02:30, which never comes': { times: within('01:00', '02:30'), opens: [true, false] },
      'from 02:30, which never comes': { times: within('02:30', '05:00'), opens: [false, true] },
      'from 03:00': { times: within('03:00', '05:00'), opens: [false, true] },
      'past the turn': { times: within('00:00', '05:00'), opens: [true, true] },
      'in the hour that is skipped': { times: within('02:10', '02:50'), opens: [false, false] }
    }
  },
  autumn: {
    at: Date.parse('2026-10-25T01:00:00Z'),
    cases: {
      ...instants,
      'from 02:30, at its first time': { times: within('02:30', '05:00'), opens: [true, false] },
      'to 02:30, again': { times: within('01:00', '02:30'), opens: [false, true] },
      'from 03:00, an hour later': { times: within('03:00', '05:00'), opens: [false, false] },
      'past the turn': { times: within('01:00', '05:00'), opens: [true, true] }
    }
  }
} as const satisfies Record<string, { readonly at: number; readonly cases: Record<string, Case> }>

interface World {
  readonly cluster: TestCluster
  /** Returns by how many seconds a clock is ahead of the machine: the server's clock, plus `secs`. */
  readonly ahead: (secs?: number) => number
}

interface Edge extends RunningAgent {
  readonly name: string
  readonly clock: SettableClock
  readonly ports: ReadonlyMap<string, number> // by the name of a case
}

const day = 86_400

/** Events on an edge before the clock change. */
const stories: Record<string, (world: World, edge: Edge) => Promise<void>> = {
  'left alone': async () => {},
  'with its clock set by a day each way': async ({ ahead }, { clock }) => {
    for (const secs of [day, -day, day]) {
      clock.set(ahead(secs))
      await after(500)
    }
  },
  'killed and started': async (_, edge) => startAgain(edge),
  'killed and started with a clock a day ahead': async ({ ahead }, edge) => {
    edge.clock.set(ahead(day))
    await startAgain(edge)
  },
  'killed and started with a clock a day behind': async ({ ahead }, edge) => {
    edge.clock.set(ahead(-day))
    await startAgain(edge)
  },
  'killed and started, then its clock is set by a day': async ({ ahead }, edge) => {
    await startAgain(edge)
    edge.clock.set(ahead(day))
  }
}

async function startAgain(edge: Edge): Promise<void> {
  edge.agent.signal('SIGKILL')
  await edge.agent.exit
  edge.restart()
  await edge.agent.until('rule.opened')
}

async function openEdge(
  t: Test,
  world: World,
  { name, turn, cases }: { name: string; turn: number; cases: Record<string, Case> },
  engine: string
): Promise<Edge> {
  const clock = settableClock(t, world.ahead())
  const running = await startAgent(t, world.cluster, name, {
    env: { ...clock.env, SVC_ENGINE: engine, SVC_LOG_LEVEL: 'info' }
  })
  const ports = new Map<string, number>()
  for (const [what, { times }] of Object.entries(cases)) {
    const listen_port = await freePort()
    await world.cluster.call('POST', '/v1/rules', {
      client: name,
      listen_port,
      targets: [{ host, port: 9 }],
      ...times(turn)
    })
    ports.set(what, listen_port)
  }
  return Object.assign(running, { name, clock, ports })
}

async function isOpen(port: number): Promise<boolean> {
  const socket = connect(port, host)
  try {
    await once(socket, 'connect')
    return true
  } catch (error) {
    return Object(error).code !== 'ECONNREFUSED' // the rule resets the connection, because its target is closed
  } finally {
    socket.destroy()
  }
}

/** Polls a port until a time. Returns its first state and the times of changes. */
async function watch(
  port: number,
  untilMs: number
): Promise<readonly (readonly [atMs: number, open: boolean])[]> {
  const seen: [number, boolean][] = []
  for (; Date.now() < untilMs; await after(20)) {
    const askedAt = Date.now()
    const open = await isOpen(port)
    if (seen.at(-1)?.[1] !== open) seen.push([open ? Date.now() : askedAt, open])
  }
  return seen
}

const runs = Object.entries(turns).flatMap(([season, turn], at) =>
  (['stopped', 'running'] as const).map((server, of) => ({ season, ...turn, server, isFirst: at === of }))
)
const chosen = runs.filter(({ isFirst }) => isFirst || process.env['EDGE_TIMES'] === 'all')

for (const { season, at: turn, cases, server } of chosen)
  t.test(`rules follow the clock change in ${season} with the server ${server}`, async t => {
    const turnAt = Date.now() + leadMs // by the machine's clock
    const ahead = (secs = 0): number => (turn - turnAt) / 1000 + secs
    const cluster = await testCluster(t, settableClock(t, ahead()).env)
    const world = { cluster, ahead }
    const edges = await Promise.all(
      Object.keys(stories).map((_, at) =>
        openEdge(t, world, { name: `edge-${at}`, turn, cases }, engines[at % engines.length] ?? 'portable')
      )
    )
    if (server === 'stopped') {
      cluster.server.signal('SIGKILL')
      await cluster.server.exit
    }
    await Promise.all(Object.values(stories).map((story, at) => edges[at] && story(world, edges[at])))
    t.ok(Date.now() < turnAt, `${turnAt - Date.now()} ms before the turn`)

    const late: number[] = []
    await Promise.all(
      edges.flatMap((edge, at) =>
        Object.entries(cases).map(
          async ([
            what,
            {
              opens: [before, then]
            }
          ]) => {
            const seen = await watch(edge.ports.get(what) ?? 0, turnAt + watchedMs)
            const name = `${what}, on an edge ${Object.keys(stories)[at]}`
            t.same(
              seen.map(([, open]) => open),
              before === then ? [before] : [before, then],
              name
            )
            const [, change] = seen
            if (!change) return
            late.push(change[0] - turnAt)
            t.ok(change[0] >= turnAt, `${name}: not early (${change[0] - turnAt} ms)`)
          }
        )
      )
    )
    late.sort((a, b) => a - b)
    t.comment(`${late.length} changes, ${late[0]} to ${late.at(-1)} ms after their time`)
  })
