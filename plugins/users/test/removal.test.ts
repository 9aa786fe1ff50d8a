import t from 'tap'
import { Client, Credential } from '../../../kernel/identity/entities.ts'
import { newId } from '../../../kernel/platform/id.ts'
import { definePlugin } from '../../../kernel/plugin.ts'
import { Rule } from '../../rules/entities.ts'
import { removalSlot } from '../exports.ts'
import { cookieOf, password, refusal, signIn, usersFixture } from './fixture.ts'

t.test(
  'deleting a user also deletes credentials, sessions and password; a new user of that id inherits nothing',
  async t => {
    const app = await usersFixture(t)
    const { ask, user } = app
    await user('root', 'superadmin')
    const bearer = await user('ann', 'user', { initial_password: password })
    const bob = await user('bob')
    const session = { authorization: '', cookie: cookieOf(await signIn(app, 'ann')) }
    const credentials = await ask('GET', '/ann/credentials')
    const [{ credential_id: id }] = credentials.body as unknown as [{ credential_id: string }]

    const removed = await ask('DELETE', '/ann')

    t.equal(removed.status, 200)
    t.strictSame(removed.body, { user_id: 'ann', removed_credential_ids: [id], removed_rule_ids: [] })
    t.match(await ask('GET', '/ann'), refusal(404, 'user_not_found'))
    t.match(await ask('DELETE', '/ann'), refusal(404, 'user_not_found'))
    await ask('POST', '', { user_id: 'ann', display_name: 'Another Ann' })
    t.match(await ask('GET', '/me', undefined, bearer), refusal(401, 'unauthenticated'))
    t.match(await ask('GET', '/me', undefined, session), refusal(401, 'unauthenticated'))
    t.match(await signIn(app, 'ann'), refusal(401, 'invalid_login'))
    t.strictSame((await ask('GET', '/ann/credentials')).body, [])
    t.match(await ask('GET', '/me', undefined, bob), { status: 200 })
  }
)

t.test('deleting a user removes only the rules of that user', async t => {
  const { ask, user, server, clock } = await usersFixture(t)
  await user('ann')
  await user('bob')
  const { store } = server.depsOf('rules')
  const now = clock.now()
  const clientId = newId(now)
  const ruleOf = (id: string, owner: string, port: number) => ({
    id,
    clientId,
    owner,
    protocol: 'tcp' as const,
    listenFrom: port,
    listenTo: port,
    targets: [{ host: '10.0.0.1', port: 80, priority: 0 }],
    placedBy: owner,
    preferIpv6: false,
    fields: [],
    state: 'active' as const,
    stateReason: null,
    createdAt: now,
    updatedAt: now,
    stateChangedAt: now,
    activatedAt: now
  })
  const [first, second, other] = [newId(now), newId(now), newId(now)]
  await store.change(async em => {
    await em.insert(Client, { id: clientId, name: 'edge', revision: 0, enrolledAt: now })
    await em.insert(Rule, ruleOf(first, 'ann', 80))
    await em.insert(Rule, ruleOf(second, 'ann', 81))
    await em.insert(Rule, ruleOf(other, 'bob', 82))
  })
  t.match((await ask('GET', '/ann')).body, { rule_count: 2 })

  const { body } = await ask('DELETE', '/ann')

  t.match(body, { removed_rule_ids: [first, second].sort() })
  t.same(
    (await store.read(em => em.find(Rule, {}))).map(({ id }) => id),
    [other]
  )
})

t.test('a removal that fails in one plugin changes nothing', async t => {
  const stuck = definePlugin({
    name: 'stuck',
    version: '1.0.0',
    kernel: '^2.0.0',
    needs: { users: '^1.0.0' },
    fills: [removalSlot.fill({ remove: () => Promise.reject(new TypeError('stuck')) })]
  })
  const { ask, user, server } = await usersFixture(t, { plugins: ['users', 'auth', 'credentials', stuck] })
  const bearer = await user('ann')
  await user('root', 'superadmin')

  t.match(await ask('DELETE', '/ann'), refusal(500, 'internal'))

  t.match(await ask('GET', '/me', undefined, bearer), { status: 200 })
  t.equal(await server.depsOf('users').store.read(em => em.count(Credential, { userId: 'ann' })), 1)
})
