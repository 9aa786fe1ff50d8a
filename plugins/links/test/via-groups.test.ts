// Paths of group rules, and the deletion of clients on paths.
import t from 'tap'
import type { RuleRecord } from '../../rules/exports.ts'
import { type ErrorReply, until } from '../../rules/test/fixture.ts'
import { RulePush } from '../../rules/wire.ts'
import { namesOf, partAt, refusal, type ViaFixture, type ViaRule, viaFixture } from './via-fixture.ts'

const one = { host: '10.0.0.1', port: 80 }

type GroupRule = ViaRule &
  ErrorReply & {
    readonly edges: readonly { client_id: string; state: string; state_reason: string | null }[]
  }

const groupOn = (app: ViaFixture, ids: readonly string[], more: object = {}) =>
  app.call<GroupRule>('POST', '/v1/rules', { clients: { ids }, listen_port: 8080, targets: [one], ...more })

const remove = (app: ViaFixture, id: string) => app.call('DELETE', `/v1/clients/${id}`)

async function revoke(app: ViaFixture, id: string): Promise<void> {
  await app.call('POST', `/v1/clients/${id}/revoke`)
}

t.test('each member of a group uses the path, and a client on the path the part after itself', async t => {
  const app = await viaFixture(t)
  const { edge: edgeId, relay: relayId, exit: exitId } = app.ids
  const [edge, relay, exit] = await Promise.all([app.agent('edge'), app.agent('relay'), app.agent('exit')])

  const made = await groupOn(app, [edgeId, relayId, exitId], { via: ['relay', 'exit'] })

  t.match(made, { status: 201, body: { state: 'active', via: [relayId, exitId] } })
  t.match(
    made.body.edges.map(({ state }) => state),
    ['active', 'active', 'active']
  )
  t.match(app.pathsIn(await edge.until(RulePush.name)), [{ next: relayId }])
  t.match(app.pathsIn(await relay.until(RulePush.name)), [{ next: exitId }])
  t.same(app.pathsIn(await exit.until(RulePush.name)), [], 'the exit dials')
  t.match(await partAt(relay), { entry_id: edgeId, targets: [{ previous: edgeId, next: exitId }] })
  const parts = [await partAt(exit), await partAt(exit, 2)]
  t.match(
    parts.sort((a, b) => (a.entry_name < b.entry_name ? -1 : 1)),
    [
      { entry_id: edgeId, targets: [{ previous: relayId, ...one }] },
      { entry_id: relayId, targets: [{ previous: relayId, ...one }] }
    ]
  )
  t.same(namesOf(exit).filter(name => name === RulePush.name).length, 1)
})

t.test(
  'a group rule with a changed path is in force on all members, and its record shows no refusal',
  async t => {
    const app = await viaFixture(t)
    const { edge: edgeId, relay: relayId, exit: exitId } = app.ids
    await Promise.all([app.agent('edge'), app.agent('relay'), app.agent('exit')])
    const { rule_id: id } = (await groupOn(app, [edgeId, exitId], { via: 'exit' })).body

    t.match(await app.patch(id, { via: ['relay', 'exit'] }), {
      status: 200,
      body: { state: 'active', state_reason: null, via: [relayId, exitId] }
    })
  }
)

t.test('a change that waits for a client of the path is shown at the group rule and its members', async t => {
  const app = await viaFixture(t)
  const { edge: edgeId, exit: exitId } = app.ids
  await Promise.all([app.agent('edge'), app.agent('exit')])
  const { rule_id: id } = (await groupOn(app, [edgeId], { via: 'exit' })).body

  const { status, body } = await app.patch(id, { via: ['other', 'exit'] })

  t.match([status, body], [200, { state: 'active', state_reason: 'path_pending', change_pending: true }])
  t.match((body as GroupRule).edges, [{ state: 'active', state_reason: 'path_pending' }])
  await app.agent('other')
  t.match(
    await until(
      () => app.get(id),
      ({ change_pending: isPending }) => !isPending
    ),
    { state: 'active', state_reason: null, via: [app.ids.other, exitId] }
  )
})

t.test('a refusal names the members, and the client of the path', async t => {
  const app = await viaFixture(t)
  await Promise.all([app.agent('edge'), app.agent('relay')])
  const { edge: edgeId, relay: relayId, exit: exitId } = app.ids

  const { status, body } = await groupOn(app, [edgeId, relayId], { via: 'exit' })

  t.match(
    { status, body },
    refusal(422, 'client_not_connected', {
      client_id: exitId,
      edges: [{ client_id: edgeId }, { client_id: relayId }]
    })
  )
})

t.test('a client that rules name in via is not deleted', async t => {
  const app = await viaFixture(t)
  const { edge: edgeId, exit: exitId } = app.ids
  await Promise.all([app.agent('edge'), app.agent('exit')])
  const { rule_id: id } = (await app.push({ via: 'exit' })).body
  const { rule_id: direct } = (await app.push({ client: 'exit' })).body

  t.match(await remove(app, exitId), refusal(409, 'client_not_revoked'))
  await revoke(app, exitId)
  t.match(await remove(app, exitId), refusal(409, 'exit_in_use', { rule_ids: [id] }))
  t.match(await app.patch(id, { via: null }), { status: 200 })
  t.equal((await remove(app, exitId)).status, 204)
  t.same(
    (await app.call<RuleRecord[]>('GET', '/v1/rules')).body.map(({ rule_id }) => rule_id),
    [id]
  )
  t.not(direct, edgeId)
})

t.test('a client is deleted with its rules, although they have a path', async t => {
  const app = await viaFixture(t)
  await Promise.all([app.agent('edge'), app.agent('exit')])
  await app.push({ via: 'exit' })
  await revoke(app, app.ids.edge)
  t.equal((await remove(app, app.ids.edge)).status, 204)
  t.same((await app.call('GET', '/v1/rules')).body, [])
})

t.test('a group rule, and a rule that failed, keep the clients of their paths', async t => {
  const app = await viaFixture(t)
  const { edge: edgeId, exit: exitId, other: otherId } = app.ids
  await Promise.all([app.agent('edge'), app.agent('exit')])
  const { rule_id: id } = (await groupOn(app, [edgeId, exitId], { via: 'exit' })).body
  await app.agent('other', { react: () => ({ refuse: 'denied_by_exit' }) })
  const { rule_id: failed } = (await app.push({ via: 'other', listen_port: 81 })).body.error.details as {
    rule_id: string
  }

  await revoke(app, exitId)
  t.match(await remove(app, exitId), refusal(409, 'exit_in_use', { rule_ids: [id] }))
  await revoke(app, otherId)
  t.match(await remove(app, otherId), refusal(409, 'exit_in_use', { rule_ids: [failed] }))
})
