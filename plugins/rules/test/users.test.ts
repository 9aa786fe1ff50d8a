import t from 'tap'
import { RuleRemove } from '../wire.ts'
import { site } from './kit.ts'

t.test('the rules of a deleted user are cut off the edge at once, those of others go on', async t => {
  const on = await site(t)
  const clientId = await on.enroll()
  const agent = await on.connect(clientId)
  await on.user('ann')
  await on.user('bob')
  const mine = await on.push({ owner: 'ann' })
  const other = await on.push({ owner: 'bob', listen_port: 8081 })
  t.match((await on.call('GET', '/v1/users/ann')).body, { rule_count: 1 })

  const { body } = await on.call('DELETE', '/v1/users/ann')
  const removal = await agent.until(RuleRemove.name)

  t.strictSame(body, { user_id: 'ann', removed_rule_ids: [mine.body.rule_id] } as object)
  t.match(removal.body, { rule_id: mine.body.rule_id, removal: 'cut' })
  t.match((await on.call('GET', '/v1/rules')).body, [{ rule_id: other.body.rule_id, state: 'active' }])
})
