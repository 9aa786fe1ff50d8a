import t from 'tap'
import { definePlugin } from '../../../kernel/plugin.ts'
import { removalSlot } from '../../users/exports.ts'
import { RuleRemove } from '../wire.ts'
import { rulesFixture, until } from './fixture.ts'

t.test('deleting a user cuts the rules of that user only', async t => {
  const app = await rulesFixture(t)
  const clientId = await app.enroll()
  const agent = await app.connect(clientId)
  await app.user('ann')
  await app.user('bob')
  const annsRule = await app.push({ owner: 'ann' })
  const other = await app.push({ owner: 'bob', listen_port: 8081 })
  t.match((await app.call('GET', '/v1/users/ann')).body, { rule_count: 1 })

  const { body } = await app.call('DELETE', '/v1/users/ann')
  const removal = await agent.until(RuleRemove.name)

  t.strictSame(body, { user_id: 'ann', removed_rule_ids: [annsRule.body.rule_id] } as object)
  t.match(removal.body, { rule_id: annsRule.body.rule_id, removal: 'cut' })
  t.match((await app.call('GET', '/v1/rules')).body, [{ rule_id: other.body.rule_id, state: 'active' }])
})

t.test('a failed deletion of the owner keeps the rule and logs no removal', async t => {
  const refusing = definePlugin({
    name: 'refusing',
    version: '1.0.0',
    kernel: '^2.0.0',
    needs: { users: '^1.0.0', rules: '^1.0.0' },
    fills: [
      removalSlot.fill({
        async remove() {
          throw new TypeError('a bug')
        }
      })
    ]
  })
  const app = await rulesFixture(t, { plugins: ['users', 'clients', 'rules', refusing] })
  await app.connect(await app.enroll())
  await app.user('ann')
  const { body } = await app.push({ owner: 'ann' })

  const { status } = await app.call('DELETE', '/v1/users/ann')

  t.equal(status, 500)
  t.match((await app.call('GET', '/v1/rules')).body, [{ rule_id: body.rule_id, state: 'active' }])
  t.notOk(app.log.some(({ event }) => event === 'rule.removed'))
})

t.test('the cached number of rules of a user is renewed after a create or a removal', async t => {
  const app = await rulesFixture(t)
  const agent = await app.connect(await app.enroll())
  for (const id of ['ann', 'bob', 'cy']) await app.user(id)
  const counts = async () => {
    const { body } = await app.call<{ user_id: string; rule_count: number }[]>('GET', '/v1/users?limit=50')
    return Object.fromEntries(body.map(({ user_id, rule_count }) => [user_id, rule_count]))
  }

  const [first] = await Promise.all([
    app.push({ owner: 'ann' }),
    app.push({ owner: 'bob', listen_port: 8081 })
  ])
  t.match(await counts(), { ann: 1, bob: 1, cy: 0 })
  t.match(await counts(), { ann: 1, bob: 1, cy: 0 })
  t.match((await app.call('GET', '/v1/users/ann')).body, { rule_count: 1 })

  const { rule_id: id } = first.body
  await app.call('DELETE', `/v1/rules/${id}`)
  t.match(await counts(), { ann: 1, bob: 1, cy: 0 }, 'it drains')
  agent.sendRemoved({
    kind: 'rule',
    id,
    revision: (await agent.until(RuleRemove.name)).body['revision'] as number
  })
  await until(counts, ({ ann }) => ann === 0)
  await app.call('DELETE', '/v1/users/bob')
  await app.call('POST', '/v1/users', { user_id: 'bob', display_name: 'Bob' })
  t.match(await counts(), { ann: 0, bob: 0, cy: 0 })
})
