// Users learn nothing by `via` about clients that they may not see.
import t, { type Test } from 'tap'
import { rule } from '../../rules/test/fixture.ts'
import { refusal, type ViaRule, viaFixture } from './via-fixture.ts'

/** Ada may place rules on `edge`, and use `exit`. */
async function open(t: Test) {
  const app = await viaFixture(t, {
    plugins: [
      'users',
      'clients',
      'rules',
      'multi-target',
      'grants',
      'cli',
      'advertised-endpoint',
      'doctor',
      'links'
    ]
  })
  await Promise.all([app.agent('edge'), app.agent('exit'), app.agent('other'), app.agent('relay')])
  const ada = await app.user('ada')
  const grant = (body: object) =>
    app.call('POST', '/v1/grants', { user_id: 'ada', protocols: ['tcp'], ...body })
  await grant({ client: 'edge', listen_port_start: 8000, listen_port_end: 8999 })
  await grant({ client: 'exit', use: 'exit' })
  const push = (body: object) => app.call<ViaRule>('POST', '/v1/rules', { ...rule, ...body }, ada)
  const list = async (via: string) =>
    (await app.call<ViaRule[]>('GET', `/v1/rules?via=${via}`, undefined, ada)).body.map(
      ({ rule_id }) => rule_id
    )
  return { ...app, ada, push, list }
}

t.test('an exit grant lets a user name the client', async t => {
  const { push, ids } = await open(t)
  t.match(await push({ via: 'exit' }), { status: 201, body: { via: [ids.exit], state: 'active' } })
})

t.test(
  'the refusal of a client is the same whether it exists or not, and has the text of the request',
  async t => {
    const { push, ids } = await open(t)
    const unknownId = '01KCD3F0P7Q4Y6Z8V1T5S9R2NA'

    for (const [given, via] of [
      ['other', 'other'],
      ['nobody', 'nobody'],
      [ids.other, ids.other],
      [unknownId, unknownId],
      [['exit', 'other'], 'other'],
      [['nobody', 'exit'], 'nobody'],
      [['other', ids.other], 'other']
    ]) {
      const { status, body } = await push({ via: given })
      t.match({ status, body }, refusal(403, 'exit_not_granted'))
      t.same(Object(body)['error']['details'], { via })
    }
  }
)

t.test('a visible client without an exit grant is refused by the text of the request', async t => {
  const { push, call } = await open(t)
  await call('POST', '/v1/grants', {
    user_id: 'ada',
    protocols: ['tcp'],
    client: 'relay',
    listen_port_start: 1,
    listen_port_end: 1
  })
  const { status, body } = await push({ via: 'relay' })
  t.match({ status, body }, refusal(403, 'exit_not_granted', { via: 'relay' }))
})

t.test('the form is checked among visible clients, before the grants', async t => {
  const { push, ids } = await open(t)
  const invalid = (reason: string) => refusal(400, 'validation.via', { reason })

  t.match(await push({ via: ['exit', ids.exit] }), invalid('repeated'))
  t.match(await push({ via: ['other', 'edge'] }), invalid('self'))
  t.match(await push({ via: ['nobody', 'nobody'] }), invalid('repeated'))
})

t.test('grants on the listen port are checked first', async t => {
  const { push } = await open(t)
  t.match(await push({ via: 'other', listen_port: 80 }), refusal(403, 'port_outside_grant'))
})

t.test('a name that two clients have is ambiguous only if the user may see both', async t => {
  const app = await open(t)
  const second = await app.enroll('exit')
  t.match(await app.push({ via: 'exit' }), { status: 201 })
  await app.call('POST', '/v1/grants', {
    user_id: 'ada',
    protocols: ['tcp'],
    client_id: second,
    use: 'exit'
  })
  t.match(await app.push({ via: 'exit', listen_port: 8081 }), refusal(409, 'client_name_ambiguous'))
})

t.test('a rule that an operator has placed keeps its path when its owner changes something else', async t => {
  const app = await open(t)
  const { rule_id: id } = (
    await app.call<ViaRule>('POST', '/v1/rules', { ...rule, via: 'other', owner: 'ada' })
  ).body
  const record = (await app.call<ViaRule>('GET', `/v1/rules/${id}`, undefined, app.ada)).body
  const patch = (body: object) => app.call<ViaRule>('PATCH', `/v1/rules/${id}`, body, app.ada)

  t.match(await patch({ paused: true }), { status: 200, body: { via: [app.ids.other] } })
  t.match(await patch({ paused: false, via: record.via }), { status: 200 }, 'the path as the record shows it')
  t.match(await patch({ via: ['other', 'exit'] }), refusal(403, 'exit_not_granted', { via: 'other' }))
})

t.test(
  'the filter `via` finds rules by name and id, and nothing by a client that the caller does not see',
  async t => {
    const app = await open(t)
    const { rule_id: id } = (await app.push({ via: 'exit' })).body
    const { rule_id: hidden } = (
      await app.call<ViaRule>('POST', '/v1/rules', {
        ...rule,
        listen_port: 99,
        via: ['other', 'exit'],
        owner: 'ada'
      })
    ).body
    await app.push({ listen_port: 8100 })
    const listAsOperator = async (query: string) =>
      (await app.call<ViaRule[]>('GET', `/v1/rules?${query}`)).body.map(({ rule_id }) => rule_id)

    t.same(await app.list('exit'), [id, hidden])
    t.same(await app.list(app.ids.exit), [id, hidden])
    t.same(await app.list('other'), [])
    t.same(await app.list(app.ids.other), [])
    t.same(await app.list('nobody'), [])
    t.same(await app.list(app.ids.edge), [], 'the entry is not on the path')
    t.same(await listAsOperator('via=other'), [hidden])
    t.same(await listAsOperator('via=exit&port=99'), [hidden])
    t.same(await listAsOperator('via=exit&client=edge&owner=ada'), [id, hidden])
  }
)
