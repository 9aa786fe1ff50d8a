// PUT of a definition, and the placer of a rule.
import t, { type Test } from 'tap'
import type { Reaction } from '../../../kit/scripted-agent.ts'
import { grantsFixture, lastSentTargets, refusal } from '../../grants/test/fixture.ts'
import { RulePush } from '../wire.ts'
import { type Deps, inOrder, rule, rulesFixture, until } from './fixture.ts'

const other = { ...rule, targets: [{ host: '10.0.0.2', port: 81 }] }
const targetsOf = (body: object) => (body as { targets: { host: string }[] }).targets.map(({ host }) => host)

async function replaceFixture(t: Test, ...reactions: readonly Reaction[]) {
  const app = await rulesFixture(t)
  const clientId = await app.enroll()
  const agent = await app.connect(clientId, { react: inOrder('accept', ...reactions, 'accept') })
  const { rule_id: id } = (await app.push()).body
  const replace = (body: object, query = '') => app.call('PUT', `/v1/rules/${id}/definition${query}`, body)
  return { app, clientId, agent, id, replace }
}

t.test('a rule keeps its id and stays active while its target is replaced', async t => {
  const { app, agent, id, replace } = await replaceFixture(t)

  t.match(await replace(other), {
    status: 200,
    body: { rule_id: id, state: 'active', targets: other.targets }
  })

  t.match(agent.received.at(-1), {
    name: RulePush.name,
    body: { rule_id: id, retry: false, targets: other.targets }
  })
  const { rules, store } = app.server.depsOf('rules') as Deps
  const scope = (await store.read(em => rules.loadScopes([id], em))).get(id)
  t.match(scope?.targets, other.targets)
  t.match(scope?.former.targets, rule.targets, 'the last bytes to the former target may be reported')
  t.match(app.decisions.at(-1), { action: 'rule.replace', resourceId: id, status: 200 })
})

for (const code of ['port_in_use', 'denied_by_agent'])
  t.test(`a replacement that the client refuses with ${code} leaves the rule as it was`, async t => {
    const { agent, app, id, replace } = await replaceFixture(t, { refuse: code })

    const { status } = await replace(other)

    t.equal(status, code === 'port_in_use' ? 409 : 422)
    t.match(await app.get(id), { state: 'active', targets: rule.targets })
    await until(
      async () => agent.received.filter(({ name }) => name === RulePush.name).length,
      n => n === 3
    )
    t.match(agent.received.at(-1)?.body, { rule_id: id, revision: 3, retry: true, targets: rule.targets })
  })

t.test('a replacement for a client that is not connected is refused, and the rule stays', async t => {
  const { app, agent, id, replace } = await replaceFixture(t)
  await agent.close()
  await until(async () => app.log.some(({ event }) => event === 'client.disconnected'), Boolean)

  t.match(await replace(other), refusal(422, 'client_not_connected'))

  t.same(targetsOf(await app.get(id)), ['10.0.0.1'])
})

t.test('a definition cannot change client, owner, protocol or ports', async t => {
  const { replace } = await replaceFixture(t)

  t.match(await replace({ ...other, listen_port: 8081 }), refusal(400, 'validation.rule_immutable_field'))
  t.match(await replace({ ...other, protocol: 'udp' }), refusal(400, 'validation.rule_immutable_field'))
  t.match(await replace({ ...other, owner: 'nobody' }), refusal(404, 'user_not_found'))
})

t.test('a missing grant refuses a replacement, and the rule stays', async t => {
  const app = await grantsFixture(t)
  await app.grant({ targets: ['10.0.0.1'] })
  const { rule_id: id } = (await app.pushAsAda()).body
  const path = `/v1/rules/${id}/definition`

  t.match(await app.call('PUT', path, other, app.ada), refusal(403, 'target_not_granted'))
  const asFile = { ...other, owner: 'ada', placed_by: 'ada' }
  t.match(
    await app.call('PUT', path, asFile),
    refusal(403, 'target_not_granted'),
    'also when a superadmin applies it'
  )
  t.match(await app.call('PUT', path, { ...other, placed_by: 'root' }, app.ada), refusal(403, 'not_owner'))

  t.match(await app.get(id), { placed_by: 'ada', targets: rule.targets })
})

t.test('grants limit the rules of a former superadmin after a demotion or deletion', async t => {
  const app = await grantsFixture(t)
  await app.grant({ targets: ['10.9.0.0/16'] })
  await app.call('POST', '/v1/users', { user_id: 'max', display_name: 'max', role: 'superadmin' })
  const { rule_id: id, placed_by } = (await app.push({ owner: 'ada', placed_by: 'max' })).body
  t.equal(placed_by, 'max')
  t.equal(lastSentTargets(app, id), null)
  const pushes = () => app.agent.received.filter(({ body }) => body['rule_id'] === id).length
  const afterNextPush = async (act: () => Promise<unknown>) => {
    const before = pushes()
    await act()
    await until(
      async () => pushes(),
      count => count > before
    )
    return lastSentTargets(app, id)
  }

  const setRole = (role: string) => () => app.call('PATCH', '/v1/users/max', { role })
  t.same(await afterNextPush(setRole('user')), [{ cidr: '10.9.0.0/16' }])
  t.equal(await afterNextPush(setRole('superadmin')), null)
  t.same(await afterNextPush(() => app.call('DELETE', '/v1/users/max')), [{ cidr: '10.9.0.0/16' }])
  t.match(await app.get(id), { placed_by: 'ada' })
})
