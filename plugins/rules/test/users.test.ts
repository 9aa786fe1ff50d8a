import t from 'tap'
import { definePlugin } from '../../../kernel/plugin.ts'
import { removalSlot } from '../../users/exports.ts'
import { RuleRemove } from '../wire.ts'
import { rulesFixture } from './fixture.ts'

t.test('deleting a user cuts the rules of that user only', async t => {
  const on = await rulesFixture(t)
  const clientId = await on.enroll()
  const agent = await on.connect(clientId)
  await on.user('ann')
  await on.user('bob')
  const annsRule = await on.push({ owner: 'ann' })
  const other = await on.push({ owner: 'bob', listen_port: 8081 })
  t.match((await on.call('GET', '/v1/users/ann')).body, { rule_count: 1 })

  const { body } = await on.call('DELETE', '/v1/users/ann')
  const removal = await agent.until(RuleRemove.name)

  t.strictSame(body, { user_id: 'ann', removed_rule_ids: [annsRule.body.rule_id] } as object)
  t.match(removal.body, { rule_id: annsRule.body.rule_id, removal: 'cut' })
  t.match((await on.call('GET', '/v1/rules')).body, [{ rule_id: other.body.rule_id, state: 'active' }])
})

t.test('a failed deletion of the owner keeps the rule and logs no removal', async t => {
  const refusing = definePlugin({
    name: 'refusing',
    version: '1.0.0',
    kernel: '^1.0.0',
    needs: { users: '^1.0.0', rules: '^1.0.0' },
    fills: [
      removalSlot.fill({
        async remove() {
          throw new TypeError('a bug')
        }
      })
    ]
  })
  const on = await rulesFixture(t, { plugins: ['users', 'clients', 'rules', refusing] })
  await on.connect(await on.enroll())
  await on.user('ann')
  const { body } = await on.push({ owner: 'ann' })

  const { status } = await on.call('DELETE', '/v1/users/ann')

  t.equal(status, 500)
  t.match((await on.call('GET', '/v1/rules')).body, [{ rule_id: body.rule_id, state: 'active' }])
  t.notOk(on.log.some(({ event }) => event === 'rule.removed'))
})
