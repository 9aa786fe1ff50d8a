// One server is paused during a change while another one continues.
import t from 'tap'
import { type Server, type ServerPlace, until, withServers } from '../servers/server-place.ts'
import { connectTo } from './empty-database.ts'

/** Pauses the first server after it has deleted a credential and before it commits. */
async function pausedInChange(place: ServerPlace) {
  const [paused, other] = place.servers as readonly [Server, Server]
  await other.call({
    method: 'POST',
    path: '/v1/users',
    body: { user_id: 'ann', display_name: 'Ann', role: 'superadmin' }
  })
  const path = '/v1/users/ann/credentials'
  const { body } = await other.call({ method: 'POST', path, body: { label: 'test' } })
  const holder = await connectTo(place, place.cluster.at('sluice'))
  await holder.query('begin')
  await holder.query('select from kernel_credential where id = $1 for update', [body['credential_id']])
  const revoke = { method: 'DELETE', path: `${path}/${body['credential_id']}`, withinMs: 60_000 }
  const revoked = paused.call(revoke)
  await until(
    () =>
      place.query(
        `select 1 from pg_stat_activity where wait_event_type = 'Lock' and application_name = 'sluice'`
      ),
    found => found.length > 0
  )
  paused.process().signal('SIGSTOP')
  await holder.query('commit')
  return { paused, other, revoke, revoked }
}

const timeout = 120_000

t.test(
  'a server that is paused in a change does not stop others from changing the same rows',
  { timeout },
  t =>
    withServers({ servers: ['a', 'b'] }, async place => {
      const { paused, other, revoke, revoked } = await pausedInChange(place)
      const { status } = await until(
        () => other.call(revoke),
        ({ status }) => status === 204,
        { withinMs: 40_000 }
      )
      t.equal(status, 204)
      paused.process().signal('SIGCONT')
      t.match((await revoked).status, 503)
    })
)
