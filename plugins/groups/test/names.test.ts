// Names of group rules: a name must be free on each client.
import t from 'tap'
import { until } from '../../rules/test/fixture.ts'
import { type GroupsFixture, groupsFixture, type Refused } from './fixture.ts'

/** Two connected clients with the label env=prod. */
async function namesFixture(t: Parameters<typeof groupsFixture>[0]) {
  const app = await groupsFixture(t)
  const paris = await app.edge('paris', { env: 'prod' })
  const lyon = await app.edge('lyon', { env: 'prod' })
  for (const id of [paris, lyon]) await app.agent(id)
  const single = async (client: string, more: object) => (await app.push({ client, ...more })).body
  return { ...app, paris, lyon, single }
}

const prod = { selector: 'env=prod' }

const patch = ({ call }: GroupsFixture, id: string, body: object) =>
  call<Refused>('PATCH', `/v1/rules/${id}`, body)

t.test('a group rule is refused where its name is taken, and nothing is stored', async t => {
  const app = await namesFixture(t)
  const web = await app.single('lyon', { listen_port: 1, name: 'web' })

  const { status, body } = await app.group(prod, { name: 'web' })

  t.equal(status, 409)
  const edge = { client_name: 'lyon', code: 'rule_name_taken', rule_id: web.rule_id, rule_name: 'web' }
  t.match(body, { error: { code: 'rule_name_taken', details: { edges: [edge] } } })
  t.match((await app.call('GET', '/v1/rules')).body, [{ rule_id: web.rule_id }])
})

t.test('the members of a group rule hold its name on their clients', async t => {
  const app = await namesFixture(t)
  const { body: group } = await app.group(prod, { name: 'web' })
  const single = await app.single('lyon', { listen_port: 1 })
  const taken = {
    status: 409,
    body: { error: { code: 'rule_name_taken', details: { rule_id: group.rule_id, rule_name: 'web' } } }
  }

  t.match(await patch(app, single.rule_id, { name: 'web' }), taken)
  t.match(await patch(app, group.rule_id, { name: 'shop' }), { status: 200, body: { name: 'shop' } })
  t.match(await patch(app, single.rule_id, { name: 'web' }), { status: 200 })
  t.match(await patch(app, group.rule_id, { name: 'web' }), {
    status: 409,
    body: { error: { code: 'rule_name_taken', details: { rule_id: single.rule_id } } }
  })
  t.match((await app.call('GET', '/v1/rules?name=shop&client=paris')).body, [{ rule_id: group.rule_id }])
})

t.test('a new name of a group rule sends nothing to its clients', async t => {
  const app = await namesFixture(t)
  const { body: group } = await app.group(prod)
  const before = [await app.objects(app.paris), await app.objects(app.lyon)]

  t.match(await patch(app, group.rule_id, { name: 'web', description: 'the shop' }), { status: 200 })

  t.strictSame([await app.objects(app.paris), await app.objects(app.lyon)], before)
})

t.test('a client that joins is refused while its name is taken there, and joins once it is free', async t => {
  const app = await namesFixture(t)
  const { body: group } = await app.group(prod, { name: 'web' })
  const nice = await app.edge('nice')
  await app.agent(nice)
  const single = await app.single('nice', { listen_port: 1, name: 'web' })
  const edgeOn = async (name: string) =>
    (await app.read(group.rule_id)).edges.find(({ client_name }) => client_name === name)

  await app.label(nice, { env: 'prod' })

  const refused = await until(
    () => edgeOn('nice'),
    edge => edge !== undefined
  )
  t.match(refused, { state: 'failed', state_reason: 'rule_name_taken' })
  t.match(await edgeOn('paris'), { state: 'active' })

  t.match(await patch(app, single.rule_id, { name: 'other' }), { status: 200 })
  app.clock.advance(10_000)
  await until(
    () => edgeOn('nice'),
    edge => edge?.state === 'active'
  )
})

t.test('group rules of one owner share a name where they share no client', async t => {
  const app = await namesFixture(t)

  t.match(await app.group({ ids: [app.paris] }, { name: 'web' }), { status: 201 })
  t.match(await app.group({ ids: [app.lyon] }, { name: 'web' }), { status: 201 })
  t.match(await app.group(prod, { name: 'web', listen_port: 1 }), { status: 409 })
})
