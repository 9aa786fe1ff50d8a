// Creating, listing and deleting grants, also with their user or client.
import t from 'tap'
import { rulesFixture } from '../../rules/test/fixture.ts'
import { grantsFixture, plugins, refusal } from './fixture.ts'

t.test('a grant is stored with the id of its client, and shown', async t => {
  const app = await grantsFixture(t)

  const created = await app.grant({
    client: 'edge',
    protocols: ['UDP', 'tcp', 'tcp'],
    targets: ['DB.example.', '10.0.0.0/8:443', '[FD00::1]:80-90', 'fd00::/8', '10.0.0.0/8:443'],
    note: 'until May'
  })

  const row = {
    grant_id: created.body.grant_id,
    user_id: 'ada',
    client_id: app.clientId,
    client_name: 'edge',
    listen_port_start: 8000,
    listen_port_end: 8999,
    protocols: ['tcp', 'udp'],
    targets: ['db.example', '10.0.0.0/8:443', '[fd00::1]:80-90', 'fd00::/8'],
    note: 'until May'
  }
  t.match(created, { status: 201, body: row })
  t.match((await app.call('GET', '/v1/grants')).body, [row])
  t.match((await app.call('GET', '/v1/grants?user_id=ada')).body, [row])
  t.same((await app.call('GET', '/v1/grants?user_id=bob')).body, [])
  t.match((await app.call('GET', '/v1/users/me/grants', undefined, app.ada)).body, [row])
  t.match((await app.call('GET', '/v1/users/ada')).body, { grant_count: 1 })
})

t.test('an equal grant is refused with the id of the first; a different one is accepted', async t => {
  const app = await grantsFixture(t)
  const terms = { protocols: ['udp', 'tcp'], targets: ['db.example', '10.0.0.0/8'], note: 'until May' }
  const first = await app.grant({ client: 'edge', ...terms })
  t.equal(first.status, 201)

  const again = await app.grant({ client_id: app.clientId, ...terms, protocols: ['TCP', 'udp'] })
  t.match(again, refusal(409, 'grant_already_exists'))
  t.match(again.body, { error: { details: { grant_id: first.body.grant_id } } })
  for (const change of [
    { protocols: ['tcp'] },
    { targets: ['db.example'] },
    { targets: null },
    { note: null },
    { listen_port_end: 8998 },
    { client: undefined, client_id: '*' }
  ])
    t.equal((await app.grant({ client: 'edge', ...terms, ...change })).status, 201, JSON.stringify(change))
})

t.test('a grant for every client has no client name', async t => {
  const app = await grantsFixture(t)

  t.match(await app.grant({ client_id: '*' }), { status: 201, body: { client_id: '*', client_name: null } })
})

t.test('an invalid grant is refused', async t => {
  const app = await grantsFixture(t)
  const secondId = await app.enroll()

  for (const [body, status, code] of [
    [{ user_id: 'nobody' }, 404, 'user_not_found'],
    [{ client_id: 'nowhere' }, 404, 'client_not_found'],
    [{ client: 'nowhere' }, 404, 'client_not_found'],
    [{ listen_port_start: 9, listen_port_end: 8 }, 422, 'invalid_port_range'],
    [{ listen_port_start: 0 }, 422, 'invalid_port_range'],
    [{ listen_port_end: 65536 }, 422, 'invalid_port_range'],
    [{ protocols: [] }, 422, 'empty_protocol_set'],
    [{ protocols: 'tcp' }, 400, 'validation.schema'],
    [{ protocols: ['icmp'] }, 400, 'validation.schema'],
    [{ client: 'edge', client_id: secondId }, 400, 'validation.schema'],
    [{ client_id: undefined }, 400, 'validation.schema'],
    [{ targets: [] }, 400, 'validation.schema'],
    [{ port: 1 }, 400, 'validation.unknown_field']
  ] as const)
    t.match(await app.grant(body), refusal(status, code), JSON.stringify(body))
  const ambiguous = await app.grant({ client: 'edge' })
  t.match(ambiguous, refusal(409, 'client_name_ambiguous'))
  t.same(ambiguous.body.error.details['client_ids'], [app.clientId, secondId].sort())
  t.same((await app.call('GET', '/v1/grants')).body, [])
})

t.test('only superadmins create, list and delete grants', async t => {
  const app = await grantsFixture(t)
  const { grant_id: id } = (await app.grant()).body

  for (const [method, url] of [
    ['POST', '/v1/grants'],
    ['GET', '/v1/grants'],
    ['DELETE', `/v1/grants/${id}`]
  ] as const)
    t.match(await app.call(method, url, undefined, app.ada), refusal(403, 'role_required'))
})

t.test('the target entries of one user are limited', async t => {
  const app = await grantsFixture(t)
  const targets = Array.from({ length: 100 }, (_, n) => `10.0.0.${n}`)
  for (const port of [1, 2, 3, 4, 5])
    t.equal((await app.grant({ listen_port_start: port, targets })).status, 201)

  t.match(await app.grant({ targets: ['10.0.1.1'] }), refusal(422, 'limit_reached'))
  t.equal((await app.grant()).status, 201)
})

t.test('deleting a user deletes the grants of the user and returns their ids', async t => {
  const app = await grantsFixture(t)
  const { grant_id: id } = (await app.grant()).body

  t.match((await app.call('DELETE', '/v1/users/ada')).body, { removed_grant_ids: [id] })
  t.same((await app.call('GET', '/v1/grants')).body, [])
})

t.test('deleting a client deletes its grants; grants for every client stay', async t => {
  const app = await grantsFixture(t)
  await app.grant()
  const all = await app.grant({ client_id: '*' })
  await app.call('POST', `/v1/clients/${app.clientId}/revoke`)

  t.equal((await app.call('DELETE', `/v1/clients/${app.clientId}`)).status, 204)

  t.same((await app.call('GET', '/v1/grants')).body, [all.body])
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
