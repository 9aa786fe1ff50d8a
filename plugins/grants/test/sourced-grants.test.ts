// Grants that a source gives with the service `sourcedGrants`, as a third-party plugin uses it.
import t, { type Test } from 'tap'
import { definePlugin, type Kernel } from '../../../kernel/plugin.ts'
import type { TestServer, TestServerOptions } from '../../../kit/test-server.ts'
import type { RuleRecord } from '../../rules/exports.ts'
import { until } from '../../rules/test/fixture.ts'
import { type GrantRow, type GrantTemplate, grantSourceSlot, type SourcedGrants } from '../exports.ts'
import { Targets } from '../wire.ts'
import { setPaths } from './exit-fixture.ts'
import { type GrantsFixture, grantsFixture, plugins } from './fixture.ts'

const source = 'acme:team'

const acme = definePlugin({
  name: 'acme',
  version: '1.0.0',
  kernel: '^2.0.0',
  needs: { http: '^1.0.0', grants: '^1.0.0' },
  fills: [grantSourceSlot.fill(text => text === source)]
})

/** Returns a function that makes the grants of ada from the source equal to these, and returns what was skipped. */
function giverOf({ server }: Pick<TestServer, 'server'>) {
  const { store, sourcedGrants } = server.depsOf('acme') as Kernel & {
    readonly sourcedGrants: SourcedGrants
  }
  return (...grants: readonly GrantTemplate[]) =>
    store.change(em => sourcedGrants.set(em, { userId: 'ada', source, actor: '_acme' }, grants))
}

async function open(t: Test, options: TestServerOptions = {}) {
  const app = await grantsFixture(t, { plugins: [...plugins, acme], ...options })
  const listed = async () => (await app.call<readonly GrantRow[]>('GET', '/v1/grants?user_id=ada')).body
  return { app, set: giverOf(app), listed }
}

const listen = (from: number, more: object = {}) => ({
  client: 'edge',
  listen_port_start: from,
  listen_port_end: from + 99,
  protocols: ['tcp'],
  ...more
})
const exit: GrantTemplate = { client: 'office', use: 'exit', protocols: ['tcp'] }

/** Returns the last value of the derived field that the agent got for the rule, or null. */
function lastSent({ agent, server }: GrantsFixture, id: string) {
  const push = agent.received.findLast(({ body }) => body['rule_id'] === id && 'fields' in body)
  const { grant_targets: bytes } = (push?.body['fields'] ?? {}) as Record<string, Uint8Array>
  return bytes ? server.depsOf('rules').codec.decode(Targets, bytes) : null
}

const stateOf = async (app: GrantsFixture, id: string) => {
  const { state, state_reason: reason } = (await app.call<RuleRecord>('GET', `/v1/rules/${id}`)).body
  return [state, reason]
}

t.test('grants that cannot be given are skipped with the reason, and the others are given', async t => {
  const { set, listed } = await open(t)
  const targets = (count: number, at: number) =>
    Array.from({ length: count }, (_, i) => `10.${at}.${Math.floor(i / 250)}.${i % 250}`)
  const many = [1, 2, 3, 4, 5, 6].map(at => listen(1000 * at, { targets: targets(100, at) }))
  const skipped = await set(
    ...many,
    listen(8000),
    listen(9000, { client: 'gone' }),
    listen(9100, { protocols: [] })
  )
  t.match(skipped.map(({ template, reason }) => [template.listen_port_start, reason.errorCode.code]).sort(), [
    [6000, 'limit_reached'],
    [9000, 'client_not_found'],
    [9100, 'empty_protocol_set']
  ])
  t.equal((await listed()).length, 6)

  t.same(await set(many[5] ?? listen(1)), [], 'the grants that go make room')
  t.match(await listed(), [{ listen_port_start: 6000, source }])
})

t.test(
  'grants of another source stay, and may be changed by hand when their source is not in use',
  async t => {
    const { app, set, listed } = await open(t)
    await set(listen(8000))
    const [grant] = await listed()
    const path = `/v1/grants/${grant?.grant_id}`
    t.match(await app.call('DELETE', path), { status: 409, body: { error: { code: 'managed_by_provider' } } })
    const { store } = app.server.depsOf('grants')
    await store.change(em => em.execute(`update grants set source = 'acme:old'`))
    await set()
    t.match(await listed(), [{ source: 'acme:old' }])
    t.match(await app.call('PATCH', path, { note: 'mine' }), { status: 200, body: { source: null } })
  }
)

t.test('a rule whose path loses its exit grant is closed, and opens with the grant', async t => {
  const { app, set } = await open(t)
  const office = await app.enroll('office')
  await set(listen(8000), exit)
  const { rule_id: id } = (await app.pushAsAda({ listen_port: 8001 })).body
  await setPaths(app, id, [[office]])

  await set(listen(8000))
  t.same(await stateOf(app, id), ['paused', 'grant_lost'])
  await app.agent.until('sluice.rules.RulePush', 2)
  t.match(lastSent(app, id), { allow: [], lost: true })

  await set(listen(8000), exit)
  t.same(await stateOf(app, id), ['active', null])
  await app.agent.until('sluice.rules.RulePush', 3)
  t.equal(lastSent(app, id), null)
})

t.test('a rule is removed at once if its pending change leaves the client of the lost grant', async t => {
  const { app, set } = await open(t)
  const office = await app.enroll('office')
  const hub = await app.enroll('hub')
  const left = [listen(8000), { ...exit, client: 'hub' }]
  await set(...left, exit)
  const { rule_id: id } = (await app.pushAsAda({ listen_port: 8001 })).body
  await setPaths(app, id, [[office]])
  await setPaths(app, id, [[hub]], 'pending')

  await set(...left)
  t.equal((await app.call('GET', `/v1/rules/${id}`)).status, 404)
})

t.test('the members of a group rule leave at once, and come back with the grant', async t => {
  const { app, set } = await open(t, { plugins: [...plugins, 'labels', 'groups', 'stats', acme] })
  await set(listen(8000))
  const pushed = await app.pushAsAda({
    client: undefined,
    clients: { ids: [app.clientId] },
    listen_port: 8001
  })
  t.equal(pushed.status, 201, pushed.text)
  const path = `/v1/rules/${pushed.body.rule_id}`
  const isOpen = (expected: boolean) =>
    until(
      async () => (await app.call<{ edges: readonly { state: string }[] }>('GET', path)).body.edges,
      edges => edges.some(({ state }) => state === 'active') === expected
    )
  await isOpen(true)
  await set()
  await isOpen(false)
  await set(listen(8000))
  await isOpen(true)
})
