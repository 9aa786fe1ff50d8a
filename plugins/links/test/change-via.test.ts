// Changes of paths: their order, clients that are away, refusals, and what stays in force until then.
import t from 'tap'
import { definePlugin } from '../../../kernel/plugin.ts'
import type { Decision } from '../../http/exports.ts'
import { type JournalEntry, journalEntrySlot } from '../../rules/exports.ts'
import { inOrder, until } from '../../rules/test/fixture.ts'
import { RulePush } from '../../rules/wire.ts'
import { targetKey } from '../paths/target-key.ts'
import { ExitPush, ExitRemove, namesOf, partAt, refusal, type ViaFixture, viaFixture } from './via-fixture.ts'

const one = { host: '10.0.0.1', port: 80 }
const two = { host: '10.0.0.2', port: 81 }

const settled = (app: ViaFixture, id: string) =>
  until(
    () => app.get(id),
    ({ change_pending: isPending }) => !isPending
  )

/** The decision of the last PATCH. */
const lastPatch = (decisions: readonly Decision[]) =>
  decisions.filter(({ action }) => action === 'rule.patch').at(-1)

t.test('PATCH switches the entry last, and drops the old part after that', async t => {
  const app = await viaFixture(t)
  const { edge: edgeId, exit: exitId, other: otherId } = app.ids
  const edge = await app.agent('edge')
  const exit = await app.agent('exit')
  const other = await app.agent('other')
  const { rule_id: id } = (await app.push({ via: 'exit', targets: [one] })).body

  const changed = await app.patch(id, { via: 'other' }, '?existing=drain')

  t.match(changed, { status: 200, body: { via: [otherId], change_pending: false, state_reason: null } })
  t.match(app.pathsIn(await edge.until(RulePush.name, 2)), [{ next: otherId }])
  t.match((await edge.until(RulePush.name, 2)).body, { existing: 'drain' })
  t.match((await partAt(other)).targets, [{ previous: edgeId, ...one }])
  t.match((await exit.until(ExitRemove.name)).body, { removal: 'drain' })
  t.same(namesOf(exit), [ExitPush.name, ExitRemove.name])
  t.match(lastPatch(app.decisions)?.changes, [{ field: 'via', from: [exitId], to: [otherId] }])
  t.equal(lastPatch(app.decisions)?.changes?.length, 1)
})

t.test('PATCH of a target replaces its path, and null removes the path of the rule', async t => {
  const app = await viaFixture(t)
  const edge = await app.agent('edge')
  const exit = await app.agent('exit')
  const { rule_id: id } = (await app.push({ via: 'exit', targets: [one] })).body

  t.match(await app.patch(id, { via: null, targets: [{ ...one, via: 'exit' }] }), {
    status: 200,
    body: { via: null, targets: [{ via: [app.ids.exit] }] }
  })
  t.match(app.pathsIn(await edge.until(RulePush.name, 2)), [{ next: app.ids.exit }])
  t.match(await app.patch(id, { targets: [one] }), { status: 200, body: { via: null } })
  t.equal(app.pathsIn(await edge.until(RulePush.name, 3)), null)
  await exit.until(ExitRemove.name)
})

t.test('a record can be sent back by PATCH and PUT, and PUT refuses another path', async t => {
  const app = await viaFixture(t)
  await Promise.all([app.agent('edge'), app.agent('exit'), app.agent('other')])
  const { rule_id: id } = (await app.push({ via: 'exit', targets: [one, { ...two, via: null }] })).body
  const record = await app.get(id)

  t.match(await app.patch(id, record), { status: 200 })
  const put = (body: object) => app.call('PUT', `/v1/rules/${id}`, body)
  t.match(await app.patch(id, { via: 'exit' }), { status: 200 })
  const fixed = (field: string) => refusal(400, 'validation.rule_immutable_field', { field })
  t.match(await put({ ...record, via: 'other' }), fixed('/via'))
  t.match(await put({ ...record, targets: [one, { ...two, via: 'other' }] }), fixed('/targets'))
  t.same(await app.get(id), record)
})

t.test('PUT of a definition replaces the path', async t => {
  const app = await viaFixture(t)
  await Promise.all([app.agent('edge'), app.agent('exit'), app.agent('other')])
  const { rule_id: id } = (await app.push({ via: 'exit', targets: [one] })).body

  const body = { client: 'edge', listen_port: 8080, targets: [one], via: ['other', 'exit'] }
  t.match(await app.call('PUT', `/v1/rules/${id}/definition`, body), {
    status: 200,
    body: { via: [app.ids.other, app.ids.exit], state: 'active' }
  })
})

t.test('while a client of the new path is away, the old path and the old targets stay in force', async t => {
  const app = await viaFixture(t)
  const { edge: edgeId, relay: relayId, exit: exitId } = app.ids
  const edge = await app.agent('edge')
  const exit = await app.agent('exit')
  const { rule_id: id } = (await app.push({ via: 'exit', targets: [one] })).body
  const before = { key: targetKey({ ...one, priority: 0, path: [exitId] }), previous: edgeId, ...one }
  const after = {
    key: targetKey({ ...two, priority: 0, path: [relayId, exitId] }),
    previous: relayId,
    ...two
  }

  const changed = await app.patch(id, { via: ['relay', 'exit'], targets: [two] })

  t.match(changed, {
    status: 200,
    body: { state: 'active', state_reason: 'path_pending', change_pending: true, via: [relayId, exitId] }
  })
  t.same((await partAt(exit, 2)).targets, [after, before], 'the exit serves both')
  t.same(namesOf(edge), [RulePush.name])
  await edge.close()
  const empty = await app.agent('edge') // it has lost the rule
  t.match(app.pathsIn(await empty.until(RulePush.name)), [{ next: exitId, key: before.key }])

  const relay = await app.agent('relay')
  t.match((await partAt(relay)).targets, [{ key: after.key, previous: edgeId, next: exitId }])
  t.match(app.pathsIn(await empty.until(RulePush.name, 2)), [{ next: relayId, key: after.key }])
  t.match(await settled(app, id), { state: 'active', state_reason: null })
  t.same((await partAt(exit, 3)).targets, [after], 'the earlier target is gone')
})

t.test('exits learn the new name of an entry, and nothing else is sent', async t => {
  const app = await viaFixture(t)
  const { edge: edgeId, exit: exitId } = app.ids
  await app.agent('edge')
  const exit = await app.agent('exit')
  await app.push({ via: 'exit' })
  await app.push({ listen_port: 81 })

  const change = (id: string, body: object) => app.call('PATCH', `/v1/clients/${id}`, body)
  t.equal((await change(exitId, { client_name: 'lyon' })).status, 200)
  t.equal((await change(edgeId, { labels: { env: 'prod' } })).status, 200)
  t.equal((await change(edgeId, { client_name: 'a "quoted": "name' })).status, 200)

  t.match(await partAt(exit, 2), { entry_name: 'a "quoted": "name' })
  t.equal((await change(edgeId, { labels: { env: 'test' } })).status, 200)
  t.equal((await change(edgeId, { client_name: 'paris' })).status, 200)
  t.match(await partAt(exit, 3), { entry_name: 'paris' })
})

t.test('a change that needs no client of a path waits for none', async t => {
  const app = await viaFixture(t)
  const edge = await app.agent('edge')
  const exit = await app.agent('exit')
  const { rule_id: id } = (await app.push({ via: 'exit', targets: [one, { ...two, via: null }] })).body
  await app.close(exit, app.ids.exit)

  const changed = await app.patch(id, { targets: [one, { ...two, port: 99, via: null }], listen_port: 9090 })

  t.match(changed, { status: 200, body: { change_pending: false, state_reason: null } })
  t.match((await edge.until(RulePush.name, 2)).body, { listen_from: 9090 })
})

t.test('a refusal fails a new rule, and undoes a change, also a late one, with a journal entry', async t => {
  const entries: JournalEntry[] = []
  const recorder = definePlugin({
    name: 'recorder',
    version: '1.0.0',
    kernel: '^2.0.0',
    needs: { rules: '^1.0.0' },
    fills: [journalEntrySlot.fill(async entry => void entries.push(entry))]
  })
  const app = await viaFixture(t, {
    plugins: [
      'users',
      'clients',
      'rules',
      'multi-target',
      'cli',
      'advertised-endpoint',
      'doctor',
      'links',
      recorder
    ]
  })
  const { exit: exitId, other: otherId } = app.ids
  await app.agent('edge')
  await app.agent('exit')
  const refuse = { refuse: 'denied_by_exit', message: 'not for you' }
  const first = await app.agent('other', { react: inOrder(refuse) })
  const refused = refusal(422, 'activation_failed', { reason: 'denied_by_exit', client_id: otherId })

  t.match(await app.push({ via: 'other', listen_port: 81 }), refused)
  await first.close()
  const second = await app.agent('other', { react: inOrder(refuse) })
  const { rule_id: id } = (await app.push({ via: 'exit' })).body
  t.match(await app.patch(id, { via: 'other' }), refused)
  t.match(await app.get(id), { state: 'active', via: [exitId], change_pending: false })
  await app.close(second, otherId)

  t.match(await app.patch(id, { via: ['other', 'exit'] }), {
    status: 200,
    body: { state_reason: 'path_pending' }
  })
  entries.length = 0
  await app.agent('other', { react: inOrder(refuse) })
  t.match(await settled(app, id), { state: 'active', state_reason: null, via: [exitId] })
  t.match(
    entries.filter(({ kind }) => kind === 'link'),
    [
      {
        about: { rule: id },
        from: 'requested',
        to: 'undone',
        cause: 'denied_by_exit',
        details: { client_id: otherId }
      }
    ]
  )
})

t.test('a rule that was never active needs only its new path', async t => {
  const app = await viaFixture(t)
  await app.agent('edge')
  await app.agent('relay')
  const exit = await app.agent('exit', { react: () => ({ refuse: 'denied_by_exit' }) })
  const { rule_id: failed } = (await app.push({ via: 'exit' })).body.error.details as { rule_id: string }
  const { rule_id: pending } = (await app.push({ via: 'other', listen_port: 81, if_offline: 'queue' })).body

  t.match(await app.patch(failed, { via: 'relay' }), { status: 200, body: { state: 'active' } })
  t.match(await app.patch(pending, { via: 'relay' }), { status: 200, body: { state: 'active' } })
  t.equal(namesOf(exit).filter(name => name === ExitPush.name).length, 1)
})

t.test('bulk changes and PUT take names, too', async t => {
  const app = await viaFixture(t)
  await Promise.all([app.agent('edge'), app.agent('exit'), app.agent('other')])
  const { rule_id: id } = (await app.push({ via: 'exit', targets: [one] })).body

  t.match(await app.call('PUT', `/v1/rules/${id}`, { ...(await app.get(id)), via: 'exit' }), { status: 200 })
  const bulk = (via: unknown) =>
    app.call('POST', '/v1/rules/bulk', { ids: [id], action: 'patch', patch: { via } })
  t.match(await bulk(['other', 'exit']), { status: 200, body: { results: [{ status: 200 }] } })
  t.match(await app.get(id), { via: [app.ids.other, app.ids.exit] })
  t.match(await bulk('nobody'), {
    body: { results: [{ status: 404, error: { code: 'client_not_found' } }] }
  })
})

t.test('without the plugin, rules with paths fail, and return with it', async t => {
  const app = await viaFixture(t)
  const edge = await app.agent('edge')
  await app.agent('exit')
  const { rule_id: id } = (await app.push({ via: 'exit' })).body
  const { rule_id: other } = (await app.push({ listen_port: 81, targets: [one, { ...two, via: 'exit' }] }))
    .body

  await app.restart({ plugins: ['users', 'clients', 'rules', 'multi-target'] })
  for (const one of [id, other])
    t.match(await app.get(one), { state: 'failed', state_reason: 'field_not_loaded' })
  t.match(await app.patch(id, { listen_port: 9 }), refusal(422, 'field_not_loaded'))
  await edge.close()

  await app.restart({
    plugins: ['users', 'clients', 'rules', 'multi-target', 'cli', 'advertised-endpoint', 'doctor', 'links']
  })
  await Promise.all([app.agent('edge'), app.agent('exit')])
  for (const one of [id, other])
    await until(
      () => app.get(one),
      ({ state }) => state === 'active'
    )
})
