// Grants: created, listed, deleted, and removed with their user or client.
import t from 'tap'
import { rulesFixture } from '../../rules/test/fixture.ts'
import { grantsFixture, plugins, refusal } from './fixture.ts'

t.test('a grant is stored with the id of its client, and shown', async t => {
  const on = await grantsFixture(t)

  const made = await on.grant({
    client: 'edge',
    protocols: ['UDP', 'tcp', 'tcp'],
    targets: ['DB.example.', '10.0.0.0/8:443', '[FD00::1]:80-90', 'fd00::/8', '10.0.0.0/8:443'],
    note: 'until May'
  })

  const row = {
    grant_id: made.body.grant_id,
    user_id: 'ada',
    client_id: on.clientId,
    client_name: 'edge',
    listen_port_start: 8000,
    listen_port_end: 8999,
    protocols: ['tcp', 'udp'],
    targets: ['db.example', '10.0.0.0/8:443', '[fd00::1]:80-90', 'fd00::/8'],
    note: 'until May'
  }
  t.match(made, { status: 201, body: row })
  t.match((await on.call('GET', '/v1/grants')).body, [row])
  t.match((await on.call('GET', '/v1/grants?user_id=ada')).body, [row])
  t.same((await on.call('GET', '/v1/grants?user_id=bob')).body, [])
  t.match((await on.call('GET', '/v1/users/me/grants', undefined, on.ada)).body, [row])
  t.match((await on.call('GET', '/v1/users/ada')).body, { grant_count: 1 })
})

t.test('a grant for every client has no name', async t => {
  const on = await grantsFixture(t)

  t.match(await on.grant({ client_id: '*' }), { status: 201, body: { client_id: '*', client_name: null } })
})

t.test('an invalid grant is refused', async t => {
  const on = await grantsFixture(t)
  const secondId = await on.enroll()

  for (const [body, status, code] of [
    [{ user_id: 'nobody' }, 404, 'user_not_found'],
    [{ client_id: 'nowhere' }, 404, 'client_not_found'],
    [{ client: 'nowhere' }, 404, 'client_not_found'],
    [{ listen_port_start: 9, listen_port_end: 8 }, 422, 'invalid_port_range'],
    [{ listen_port_start: 0 }, 422, 'invalid_port_range'],
    [{ listen_port_end: 65536 }, 422, 'invalid_port_range'],
    [{ protocols: [] }, 422, 'empty_protocol_set'],
    [{ protocols: ['icmp'] }, 400, 'validation.schema'],
    [{ client: 'edge', client_id: secondId }, 400, 'validation.schema'],
    [{ client_id: undefined }, 400, 'validation.schema'],
    [{ targets: [] }, 400, 'validation.schema'],
    [{ port: 1 }, 400, 'validation.unknown_field']
  ] as const)
    t.match(await on.grant(body), refusal(status, code), JSON.stringify(body))
  const ambiguous = await on.grant({ client: 'edge' })
  t.match(ambiguous, refusal(409, 'client_name_ambiguous'))
  t.same(ambiguous.body.error.details['client_ids'], [on.clientId, secondId].sort())
  t.same((await on.call('GET', '/v1/grants')).body, [])
})

t.test('only superadmins create, list and delete grants', async t => {
  const on = await grantsFixture(t)
  const { grant_id: id } = (await on.grant()).body

  for (const [method, url] of [
    ['POST', '/v1/grants'],
    ['GET', '/v1/grants'],
    ['DELETE', `/v1/grants/${id}`]
  ] as const)
    t.match(await on.call(method, url, undefined, on.ada), refusal(403, 'role_required'))
})

t.test('the target entries of one user are limited', async t => {
  const on = await grantsFixture(t)
  const targets = Array.from({ length: 100 }, (_, n) => `10.0.0.${n}`)
  for (const _ of Array.from({ length: 5 })) t.equal((await on.grant({ targets })).status, 201)

  t.match(await on.grant({ targets: ['10.0.1.1'] }), refusal(422, 'limit_reached'))
  t.equal((await on.grant()).status, 201)
})

t.test('deleting a user removes the grants of the user and returns their ids', async t => {
  const on = await grantsFixture(t)
  const { grant_id: id } = (await on.grant()).body

  t.match((await on.call('DELETE', '/v1/users/ada')).body, { removed_grant_ids: [id] })
  t.same((await on.call('GET', '/v1/grants')).body, [])
})

t.test('deleting a client removes its grants; those for every client stay', async t => {
  const on = await grantsFixture(t)
  await on.grant()
  const all = await on.grant({ client_id: '*' })
  await on.call('POST', `/v1/clients/${on.clientId}/revoke`)

  t.equal((await on.call('DELETE', `/v1/clients/${on.clientId}`)).status, 204)

  t.same((await on.call('GET', '/v1/grants')).body, [all.body])
})

t.test('users and clients deleted while the plugin was off leave no grants', async t => {
  const first = await grantsFixture(t)
  await first.grant()
  await first.grant({ client_id: '*' })
  await first.stop()
  const off = await rulesFixture(t, { dir: first.dir, clock: first.clock })
  await off.call('DELETE', '/v1/users/ada')
  await first.clock.advance(1000)
  await off.call('POST', '/v1/users', { user_id: 'ada', display_name: 'another' })
  await off.stop()

  const again = await rulesFixture(t, { dir: first.dir, clock: first.clock, plugins })

  t.same((await again.call('GET', '/v1/grants')).body, [])
})
