// Rules of users that name exits.
import t, { type Test } from 'tap'
import { objectMessages } from '../../../agent/wire/derived-object.ts'
import { fieldMessage } from '../../../agent/wire/rule-field.ts'
import { scriptedResponse } from '../../../kit/scripted-agent.ts'
import { via } from '../../links/fields.ts'
import { exitObject, capability as link } from '../../links/wire.ts'
import { ruleResponses, until } from '../../rules/test/fixture.ts'
import { messages, RuleRemove, updateCapability } from '../../rules/wire.ts'
import { capability, Targets } from '../wire.ts'
import { grantsFixture, plugins, refusal } from './fixture.ts'

const { push: ExitPush, remove: ExitRemove } = objectMessages(exitObject)

const script = {
  capabilities: {
    [capability.id]: capability.since,
    [link.id]: link.since,
    [updateCapability.id]: updateCapability.since
  },
  messages: [...messages, Targets, fieldMessage(via), ExitPush, ExitRemove, ExitPush.response],
  responses: [
    ...ruleResponses,
    scriptedResponse(ExitPush, ({ id, revision }) => ({ id, revision })),
    scriptedResponse(ExitRemove, ({ id, revision }) => ({ id, revision }))
  ]
}

/** The clients entry and office with agents that support links; ada may listen on entry. */
async function open(t: Test) {
  const app = await grantsFixture(t, {
    plugins: [...plugins, 'cli', 'advertised-endpoint', 'doctor', 'groups', 'links']
  })
  const entryId = await app.enroll('entry')
  const officeId = await app.enroll('office')
  await app.call('PATCH', `/v1/clients/${officeId}`, { link: {} })
  const entry = await app.connect(entryId, script)
  const office = await app.connect(officeId, script)
  await app.grant({ client: 'entry' })
  const exit = async (body: object = {}) => {
    const terms = { user_id: 'ada', client: 'office', use: 'exit', protocols: ['tcp'], ...body }
    return (await app.call<{ grant_id: string }>('POST', '/v1/grants', terms)).body.grant_id
  }
  const push = (body: object) => app.pushAsAda({ client: 'entry', ...body })
  return { app, entryId, officeId, entry, office, exit, push }
}

t.test('the answer to an exit that is not granted does not tell if the client exists', async t => {
  const { officeId, push, exit } = await open(t)
  const refused = async (text: string) => {
    const { status, body } = await push({ via: text })
    t.match({ status, body }, refusal(403, 'exit_not_granted'))
    t.same(body.error.details, { via: text })
    return body.error.message
  }

  const first = await refused('nowhere')
  t.equal(await refused('office'), first)
  t.equal(await refused(officeId), first)
  await exit({ protocols: ['udp'] })
  t.equal(await refused('office'), first, 'a client that the user sees')
  await exit({ client_id: '*', client: undefined, entries: [officeId] })
  t.equal(await refused('nowhere'), first)
})

t.test('the exit gets the targets that its grants allow, and new ones when they change', async t => {
  const { app, office, push, exit } = await open(t)
  const narrow = await exit({ targets: ['10.0.0.0/8'] })

  t.match(
    await push({ via: 'office', targets: [{ host: '192.0.2.1', port: 80 }] }),
    refusal(403, 'target_not_granted')
  )
  const { status, body } = await push({ via: 'office' })
  t.match([status, body], [201, { state: 'active' }])
  t.match((await office.until(ExitPush.name)).body, {
    body: { owner: 'ada', allow: { matches: [{ cidr: '10.0.0.0/8' }] } }
  })
  await exit()
  const next = await office.until(ExitPush.name, 2)
  t.notOk('allow' in (next.body['body'] as object))
  t.match((await app.call('DELETE', `/v1/grants/${narrow}`)).body, { removed_rule_ids: [] })
})

t.test('the loss of an exit grant cuts the rule at both ends', async t => {
  const { app, entry, office, push, exit } = await open(t)
  const id = await exit()
  const { rule_id } = (await push({ via: 'office' })).body

  t.match((await app.call('DELETE', `/v1/grants/${id}`)).body, { removed_rule_ids: [rule_id] })

  t.match((await entry.until(RuleRemove.name)).body, { rule_id, removal: 'cut' })
  t.match((await office.until(ExitRemove.name)).body, { id: rule_id, removal: 'cut' })
})

t.test('a user cannot move a rule to an exit that is not granted', async t => {
  const { app, entryId, push, exit } = await open(t)
  const { rule_id: id } = (await push({})).body
  const patch = (body: object) => app.call('PATCH', `/v1/rules/${id}`, body, app.ada)

  t.match(await patch({ via: 'office' }), refusal(403, 'exit_not_granted'))
  await exit({ entries: [entryId], targets: ['192.0.2.0/24'] })
  t.match(await patch({ via: 'office' }), refusal(403, 'target_not_granted'))
  t.equal((await patch({ via: 'office', targets: [{ host: '192.0.2.1', port: 80 }] })).status, 200)
  t.match(
    await patch({ targets: [{ host: '10.0.0.1', port: 80 }] }),
    refusal(403, 'target_not_granted'),
    'a new target'
  )
})

t.test('a member of a group rule joins its client when the exit grant comes', async t => {
  const { app, entryId, push, exit } = await open(t)
  const selector = { clients: { ids: [entryId] }, client: undefined, via: 'office' }
  t.match(await push(selector), refusal(403, 'exit_not_granted'))
  const id = await exit()
  const { status, body } = await push(selector)
  t.match([status, body], [201, { state: 'active' }])

  await app.call('DELETE', `/v1/grants/${id}`)
  const edge = async () =>
    (await app.get(body.rule_id))['edges'] as readonly { state: string; state_reason: string | null }[]
  await until(edge, ([one]) => one?.state_reason === 'exit_not_granted')
  await exit()
  await until(edge, ([one]) => one?.state === 'active')
})
