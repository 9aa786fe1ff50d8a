// Steps the clock of the database, which the heartbeats of the servers use.
import t, { type Test } from 'tap'
import { type Server, type ServerPlace, until, withServers } from '../servers/server-place.ts'
import { type SettableClock, settableClock } from '../support/settable-clock.ts'

const options = { timeout: 120_000 }
const threeHours = 3 * 3600 // s

/** Two servers, and the clock of their database. */
function withClock(work: (place: ServerPlace, clock: SettableClock) => Promise<void>): Promise<void> {
  let clock: SettableClock | undefined
  const databaseEnv = (t: Pick<Test, 'teardown'>) => {
    clock = settableClock(t)
    return clock.env
  }
  return withServers({ servers: ['a', 'b'], databaseEnv }, async place => {
    if (!clock) throw new TypeError('the database has a clock')
    await work(place, clock)
  })
}

const seen = ({ query }: ServerPlace) =>
  query<{ id: string; at: string }>('select server_id as id, seen_at as at from servers_server order by 1')

/** Waits until each server has sent two heartbeats. */
async function shown(place: ServerPlace): Promise<void> {
  for (let times = 0; times < 2; times++) {
    const before = new Map((await seen(place)).map(({ id, at }) => [id, at]))
    await until(
      () => seen(place),
      rows => rows.every(({ id, at }) => at !== before.get(id))
    )
  }
}

const namesAt = async ({ call }: Server): Promise<unknown> => {
  const { body } = await call({ method: 'GET', path: '/v1/servers' })
  return JSON.stringify(body).match(/"server_id":"\w+"/g)?.length
}

t.test('a step of the database clock does not make servers declare each other dead', options, t =>
  withClock(async (place, clock) => {
    await shown(place)
    for (const ahead of [threeHours, -threeHours, 0]) {
      clock.set(ahead)
      await shown(place)
    }
    for (const server of place.servers) {
      t.equal(server.process().count('server.left'), 0, 'no server counts as dead')
      t.equal(await namesAt(server), 2)
    }
  })
)

t.test('a server starts although the row of a dead server has a time in the future', options, t =>
  withClock(async (place, clock) => {
    const [a, b] = place.servers as readonly [Server, Server]
    clock.set(threeHours)
    await shown(place)
    for (const { process } of [a, b]) {
      process().signal('SIGKILL')
      await process().exit
    }
    clock.set(0)
    await a.restart()
    const user = { user_id: 'ann', display_name: 'Ann' }
    t.match(await a.call({ method: 'POST', path: '/v1/users', body: user }), { status: 201 })
    t.equal(await namesAt(a), 1)
  })
)
