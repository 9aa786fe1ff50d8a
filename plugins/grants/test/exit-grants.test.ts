// Exit grants: their terms, the paths that they allow, and what exits may dial.
import t, { type Test } from 'tap'
import { rulesFixture, until } from '../../rules/test/fixture.ts'
import { RuleRemove } from '../../rules/wire.ts'
import { exitListsOf, refusalOf, setPaths } from './exit-fixture.ts'
import { type GrantsFixture, grantsFixture, lastSentTargets, plugins, refusal } from './fixture.ts'

/** A listen grant of ada on the client edge, and the clients relay and office. */
async function open(t: Test) {
  const app = await grantsFixture(t)
  await app.grant()
  const relay = await app.enroll('relay')
  const office = await app.enroll('office')
  const exit = (body: object) =>
    app.call<{ grant_id: string }>('POST', '/v1/grants', {
      user_id: 'ada',
      use: 'exit',
      protocols: ['tcp'],
      ...body
    })
  return { app, relay, office, exit }
}

const target = (path?: readonly string[], host = '10.0.0.1') => ({
  host,
  port: 80,
  priority: 0,
  ...(path && { path })
})

const remove = (app: GrantsFixture, id: string) =>
  app.call<{ removed_rule_ids: string[] }>('DELETE', `/v1/grants/${id}`)

t.test('an exit grant has no ports, and shows its entries', async t => {
  const { app, office, exit } = await open(t)

  const { status, body } = await exit({ client: 'office', entries: [office, app.clientId, office] })
  const row = {
    client_id: office,
    client_name: 'office',
    use: 'exit',
    listen_port_start: null,
    listen_port_end: null,
    protocols: ['tcp'],
    targets: null,
    entries: [app.clientId, office].sort()
  }
  t.match([status, body], [201, row])
  t.match((await app.call('GET', `/v1/grants/${body.grant_id}`)).body, row)
  t.match((await app.call('GET', '/v1/users/me/grants?use=exit', undefined, app.ada)).body, [row])
  t.match((await app.call('GET', '/v1/grants?use=listen')).body, [
    { use: 'listen', listen_port_start: 8000, entries: null }
  ])
  t.match((await app.call('GET', '/v1/users/ada')).body, { grant_count: 2 })
})

t.test('invalid terms of an exit grant are refused', async t => {
  const { app, exit } = await open(t)
  const { clientId } = app

  for (const [body, status, code] of [
    [{ client: 'office', listen_port_start: 80 }, 400, 'validation.grant_ports'],
    [{ client: 'office', listen_port_end: 80 }, 400, 'validation.grant_ports'],
    [{ client: 'office', entries: [] }, 400, 'validation.schema'],
    [{ client: 'office', entries: ['nowhere'] }, 404, 'client_not_found'],
    [{ client: 'office', entries: Array.from({ length: 101 }, () => clientId) }, 400, 'validation.schema'],
    [{ client: 'office', use: 'relay' }, 400, 'validation.schema'],
    [{ client: 'office', use: 'listen' }, 422, 'invalid_port_range']
  ] as const)
    t.match(await exit(body), refusal(status, code), JSON.stringify(body))
  t.match(await app.grant({ entries: [clientId] }), refusal(400, 'validation.schema'))
  t.equal((await exit({ client: 'office', listen_port_start: null, listen_port_end: null })).status, 201)
  t.match(await exit({ client: 'office' }), refusal(409, 'grant_already_exists'))
  t.equal((await exit({ client: 'office', entries: [clientId] })).status, 201)
})

t.test('a rule with a path needs an exit grant for each client of it', async t => {
  const { app, relay, office, exit } = await open(t)
  const { clientId } = app
  const through = (path: readonly string[], more = {}) =>
    refusalOf(app, { targets: [target(), target(path)], ...more })
  const missing = (via: string) => ({ code: 'exit_not_granted', details: { via } })

  t.same(await through([office], { listenFrom: 1 }), { code: 'port_outside_grant' })
  t.same(await through([office]), missing(office))
  await exit({ client: 'office', protocols: ['udp'] })
  t.same(await through([office]), missing(office), 'the protocol')
  await exit({ client: 'office', entries: [relay] })
  t.same(await through([office]), missing(office), 'the entry')
  await exit({ client: 'office', entries: [relay, clientId] })
  t.equal(await through([office]), null)
  t.same(await through([relay, office]), missing(relay))
  await exit({ client_id: '*', entries: [clientId] })
  t.equal(await through([relay, office]), null)
  t.same(await through(['nowhere']), missing('nowhere'), 'a grant for all clients covers those that exist')
  t.same(
    await through([office], { clientId: relay }),
    { code: 'client_not_granted' },
    'an exit grant opens no port'
  )
})

t.test('a listen grant opens no exit', async t => {
  const { app, office } = await open(t)
  await app.grant({ client: 'office' })

  t.match(await refusalOf(app, { targets: [target([office])] }), { code: 'exit_not_granted' })
})

t.test('the grants of the client that dials decide about a target', async t => {
  const { app, relay, office, exit } = await open(t)
  await app.grant({ client_id: relay, targets: ['192.0.2.1'] })
  await exit({ client: 'office', targets: ['10.0.0.0/8:80'] })
  await exit({ client: 'office', targets: ['files.example'] })
  await exit({ client: 'relay', targets: ['192.0.2.9'] })
  const judged = (...targets: ReturnType<typeof target>[]) =>
    refusalOf(app, { targets, clientId: relay }).then(refused => refused?.code ?? null)

  t.equal(await judged(target([office])), null)
  t.equal(await judged(target([office], 'files.example')), null)
  t.equal(await judged(target([office], '192.0.2.1')), 'target_not_granted')
  t.equal(await judged(target(undefined, '192.0.2.1'), target([office])), null)
  t.equal(await judged(target(), target([office])), 'target_not_granted', 'the entry dials the first')
  const range = { listenFrom: 8000, listenTo: 8001, clientId: relay }
  t.match(await refusalOf(app, { ...range, targets: [target([office])] }), { code: 'target_not_granted' })
  t.equal(await refusalOf(app, { clientId: app.clientId, targets: [target([relay, office])] }), null)
})

t.test('exits get the lists of the grants, and nothing when a grant is missing', async t => {
  const { app, relay, office, exit } = await open(t)
  const { rule_id: id } = (await app.pushAsAda()).body
  await setPaths(app, id, [[relay, office], [relay], null])

  t.same(await exitListsOf(app, id), { [office]: [], [relay]: [] })
  await exit({ client: 'office', targets: ['10.0.0.0/8:80'] })
  t.same(await exitListsOf(app, id), { [office]: [], [relay]: [] }, 'the relay is not granted')
  const all = (await exit({ client: 'relay' })).body.grant_id
  t.same(await exitListsOf(app, id), { [office]: [{ cidr: '10.0.0.0/8', port_from: 80, port_to: 80 }] })
  await exit({ client: 'office', targets: ['db.example'] })
  t.equal((await exitListsOf(app, id))[office]?.length, 2)
  await exit({ client: 'office' })
  t.same(await exitListsOf(app, id), {})
  await remove(app, all)
  t.same((await app.call('GET', '/v1/rules')).body, [])
})

t.test('an exit grant limits no rule of a superadmin', async t => {
  const { app, office } = await open(t)
  const { rule_id: id } = (await app.push({ owner: 'ada' })).body
  await setPaths(app, id, [[office]])

  t.same(await exitListsOf(app, id), {})
})

t.test('without the plugin, exits of users may dial nothing', async t => {
  const { app, office, exit } = await open(t)
  await exit({ client: 'office' })
  const { rule_id: id } = (await app.pushAsAda()).body
  await setPaths(app, id, [[office], null])
  t.same(await exitListsOf(app, id), {})
  await app.stop()

  const off = await rulesFixture(t, { dir: app.dir })
  t.same(await exitListsOf(off, id), { [office]: [] })
})

t.test('the client of the rule gets no list for targets that others dial', async t => {
  const { app, office, exit } = await open(t)
  await app.call(
    'DELETE',
    `/v1/grants/${(await app.call<{ grant_id: string }[]>('GET', '/v1/grants')).body[0]?.grant_id}`
  )
  await app.grant({ targets: ['10.0.0.0/8'] })
  const { rule_id: id } = (await app.pushAsAda()).body
  t.equal(lastSentTargets(app, id)?.length, 1)
  await setPaths(app, id, [[office]])

  await exit({ client: 'office' })
  await until(
    async () => lastSentTargets(app, id),
    sent => sent === null
  )
})

t.test('deleting an exit grant removes the rules whose path no other grant allows', async t => {
  const { app, relay, office, exit } = await open(t)
  const { clientId } = app
  const wide = (await exit({ client_id: '*' })).body.grant_id
  await exit({ client: 'office', entries: [clientId] })
  const push = async (port: number, ...paths: Parameters<typeof setPaths>[2]) => {
    const { rule_id: id } = (await app.pushAsAda({ listen_port: port })).body
    await setPaths(app, id, paths)
    return id
  }
  const direct = await push(8001, null)
  const covered = await push(8002, [office])
  const lost = await push(8003, null, [relay, office])
  const placed = (await app.push({ owner: 'ada', listen_port: 8004 })).body.rule_id
  await setPaths(app, placed, [[relay]])

  t.match((await remove(app, wide)).body, { removed_rule_ids: [lost] })

  t.match((await app.agent.until(RuleRemove.name)).body, { rule_id: lost, removal: 'cut' })
  const { body } = await app.call<{ rule_id: string }[]>('GET', '/v1/rules')
  t.same(
    body.map(({ rule_id }) => rule_id),
    [direct, covered, placed]
  )
})

t.test('a rule is removed when the path that is still in force loses its grant', async t => {
  const { app, relay, office, exit } = await open(t)
  const first = (await exit({ client: 'office' })).body.grant_id
  await exit({ client: 'relay' })
  const { rule_id: id } = (await app.pushAsAda()).body
  await setPaths(app, id, [[office]])
  await setPaths(app, id, [[relay]], 'pending')

  t.match((await remove(app, first)).body, { removed_rule_ids: [id] })
})

t.test('the deletion of a client takes its exit grants, and its place among the entries', async t => {
  const { app, relay, office, exit } = await open(t)
  await exit({ client: 'relay' })
  await exit({ client: 'office', entries: [relay] })
  const kept = await exit({ client: 'office', entries: [relay, app.clientId] })
  const { grant_id: id } = kept.body
  const before = await app.call('GET', `/v1/grants/${id}`)
  await app.call('POST', `/v1/clients/${relay}/revoke`)

  t.equal((await app.call('DELETE', `/v1/clients/${relay}`)).status, 204)

  t.match((await app.call('GET', '/v1/grants?use=exit')).body, [
    { grant_id: id, client_id: office, entries: [app.clientId] }
  ])
  t.not((await app.call('GET', `/v1/grants/${id}`)).headers['etag'], before.headers['etag'])
})

t.test('the audit log has the use and the entries of a grant', async t => {
  const app = await grantsFixture(t, { plugins: [...plugins, 'auth', 'audit'] })
  const terms = { use: 'exit', entries: [app.clientId], listen_port_start: null, listen_port_end: null }
  const { grant_id: id } = (await app.grant(terms)).body
  await remove(app, id)

  t.match((await app.call('GET', '/v1/audit?limit=2')).body, [
    {
      action: 'grant.delete',
      changes: [
        { field: 'use', from: 'exit', to: null },
        { field: 'entries', from: [app.clientId], to: null }
      ]
    },
    {
      action: 'grant.create',
      changes: [
        { field: 'use', from: null, to: 'exit' },
        { field: 'entries', from: null, to: [app.clientId] }
      ]
    }
  ])
})

t.test('a client that only exit grants show has no addresses', async t => {
  const { app, office, exit } = await open(t)
  await app.call('PUT', `/v1/clients/${office}`, { address: 'office.example' })
  await app.connect(office)
  await exit({ client: 'office' })
  const shown = async () =>
    (
      await app.call<{ client_id: string; address: string; remote_addr: string }[]>(
        'GET',
        '/v1/clients',
        undefined,
        app.ada
      )
    ).body

  t.match(await shown(), [
    { client_id: app.clientId, remote_addr: '127.0.0.1' },
    { client_id: office, client_name: 'office', connected: true, address: null, remote_addr: null }
  ])
  t.match((await app.call('GET', `/v1/clients/${office}`, undefined, app.ada)).body, { address: null })
  t.match((await app.call('GET', `/v1/clients/${office}`)).body, { address: 'office.example' })
  t.match(await app.pushAsAda({ client: 'office' }), refusal(403, 'client_not_granted'))
  await app.grant({ client: 'office' })
  t.match((await shown())[1], { address: 'office.example', remote_addr: '127.0.0.1' })
})
