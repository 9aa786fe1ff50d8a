// Agents report the rules that fields have closed.
import t from 'tap'
import { RulesClosed } from '../wire.ts'
import { rulesFixture, until } from './fixture.ts'

t.test('an active rule shows why a field has closed it, until it opens or the client reconnects', async t => {
  const app = await rulesFixture(t)
  const clientId = await app.enroll()
  const agent = await app.connect(clientId)
  const { rule_id: id } = (await app.push()).body
  const untilReason = (reason: string | null) =>
    until(
      () => app.get(id),
      ({ state_reason }) => state_reason === reason
    )
  const report = (reason: string) => agent.channel.send(RulesClosed, { rules: [{ rule_id: id, reason }] })

  report('outside_schedule')
  t.match(await untilReason('outside_schedule'), { state: 'active' })
  report('')
  await untilReason(null)
  report('expired')
  await untilReason('expired')
  t.match((await app.call('GET', '/v1/rules')).body, [{ state: 'active', state_reason: 'expired' }])
  await agent.close()
  t.match(await app.get(id), { state_reason: 'expired' }, 'as the client last reported')
  await app.connect(clientId)

  await untilReason(null)
})

t.test('a client can only report its own rules, and a removed rule is forgotten', async t => {
  const app = await rulesFixture(t)
  const [mine, other] = [await app.enroll('edge'), await app.enroll('other')]
  await app.connect(mine)
  const hostile = await app.connect(other)
  const { rule_id: id } = (await app.push()).body
  const { rule_id: own } = (await app.push({ client: 'other' })).body

  hostile.channel.send(RulesClosed, {
    rules: [
      { rule_id: id, reason: 'expired' },
      { rule_id: 'unknown', reason: 'expired' },
      { rule_id: own, reason: 'expired' }
    ]
  })

  await until(
    () => app.get(own),
    ({ state_reason }) => state_reason === 'expired'
  )
  t.match(await app.get(id), { state: 'active', state_reason: null })
})
