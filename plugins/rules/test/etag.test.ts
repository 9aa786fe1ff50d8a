import t from 'tap'
import type { RuleRecord } from '../api/rule-record.ts'
import { ruleEtag } from '../api/rule-resource.ts'
import type { Rule } from '../entities.ts'
import { messages, updateCapability } from '../wire.ts'
import { rulesFixture } from './fixture.ts'

t.test('a rule without an agent gets a new ETag for a change within the same millisecond', async t => {
  const { server } = await rulesFixture(t)
  const { filled } = server.depsOf('rules')
  const failed = {
    id: 'r',
    updatedAt: 1,
    targets: [{ host: '10.0.0.1', port: 80, priority: 0 }]
  } as unknown as Rule
  const changed = { ...failed, targets: [{ host: '10.0.0.2', port: 81, priority: 0 }] }

  const etagOf = (rule: Rule) => ruleEtag(rule, {}, filled)

  t.equal(etagOf(failed), etagOf({ ...failed }))
  t.not(etagOf(failed), etagOf(changed))
})

t.test(
  'changes of others on a client neither change the ETag of a rule nor show in the next one',
  async t => {
    const app = await rulesFixture(t)
    const clientId = await app.enroll('edge')
    await app.connect(clientId, { capabilities: { [updateCapability.id]: updateCapability.since }, messages })
    const { rule_id: own, etag } = (await app.push({})).body
    const { rule_id: other } = (await app.push({ listen_port: 9001 })).body
    const pause = (id: string, paused: boolean, headers = {}) =>
      app.call<RuleRecord>('PATCH', `/v1/rules/${id}`, { paused }, headers)

    const alone = await pause(own, true, { 'if-match': etag })
    await pause(own, false)
    t.match(await pause(other, true), { status: 200 })
    t.equal((await app.get(own)).etag, etag)
    const beside = await pause(own, true, { 'if-match': etag })

    t.match(beside, { status: 200, body: { etag: alone.body.etag } })
    t.not(beside.body.etag, etag)
    t.equal(beside.headers['etag'], beside.body.etag)
  }
)
