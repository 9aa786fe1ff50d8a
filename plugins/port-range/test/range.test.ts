import t, { type Test } from 'tap'
import { rule, rulesFixture } from '../../rules/test/fixture.ts'
import { RulePush } from '../../rules/wire.ts'

const plugins = ['users', 'clients', 'rules', 'grants', 'port-range', 'udp']

async function rangeFixture(t: Test, keys = {}) {
  const on = await rulesFixture(t, { plugins, keys })
  const clientId = await on.enroll()
  const agent = await on.connect(clientId, { capabilities: { 'rule.range': '1.0.0', 'rule.udp': '1.0.0' } })
  return { on, clientId, agent }
}

const targetsAt = (port: number) => [{ host: '10.0.0.1', port }]

t.test('a range is stored, shown with the last port of each target, and sent as one rule', async t => {
  const { on, agent } = await rangeFixture(t)

  const created = await on.push({ listen_port: 8000, listen_port_end: 8010, targets: targetsAt(9000) })

  t.match(created, {
    status: 201,
    body: { listen_port: 8000, listen_port_end: 8010, targets: [{ port: 9000, port_end: 9010 }] }
  })
  t.match((await agent.until(RulePush.name)).body, { listen_from: 8000, listen_to: 8010 })
  t.match(await on.call('PUT', `/v1/rules/${created.body.rule_id}`, await on.get(created.body.rule_id)), {
    status: 200
  })
  t.match(await on.push({ listen_port: 1, listen_port_end: 1 }), {
    status: 201,
    body: { listen_port: 1, listen_port_end: null, targets: [{ port_end: null }] }
  })
})

t.test('an inverted, overflowing or too wide range is refused', async t => {
  const { on } = await rangeFixture(t, { range_rule_max_ports: 100 })
  const outcome = async (body: object) => {
    const reply = await on.push(body)
    if (reply.status === 201) await on.call('DELETE', `/v1/rules/${reply.body.rule_id}`)
    return reply.status === 201 ? 'created' : reply.body.error.code
  }

  for (const [body, answer] of [
    [{ listen_port: 8000, listen_port_end: 7999 }, 'validation.range_invalid'],
    [{ listen_port: 8000, listen_port_end: 8099 }, 'created'],
    [{ listen_port: 8000, listen_port_end: 8100 }, 'validation.range_too_wide'],
    [{ listen_port: 65500, listen_port_end: 65535, targets: targetsAt(1) }, 'created'],
    [{ listen_port: 65500, listen_port_end: 65536 }, 'validation.range_invalid'],
    [{ listen_port: 8000, listen_port_end: 8009, targets: targetsAt(65526) }, 'created'],
    [{ listen_port: 8000, listen_port_end: 8009, targets: targetsAt(65527) }, 'validation.range_invalid']
  ] as const)
    t.equal(await outcome(body), answer, JSON.stringify(body))
})

t.test('a range reserves every port, against other ranges and single ports', async t => {
  const { on } = await rangeFixture(t)
  const { body } = await on.push({ listen_port: 8000, listen_port_end: 8010, targets: targetsAt(1) })
  const taken = { status: 409, body: { error: { code: 'port_in_use', details: { rule_id: body.rule_id } } } }

  for (const body of [
    { listen_port: 8000 },
    { listen_port: 8010 },
    { listen_port: 7990, listen_port_end: 8000 },
    { listen_port: 8010, listen_port_end: 8020 },
    { listen_port: 7990, listen_port_end: 8020 },
    { listen_port: 8003, listen_port_end: 8004 }
  ])
    t.match(await on.push(body), taken)
  t.equal((await on.push({ listen_port: 7999 })).status, 201)
  t.equal((await on.push({ listen_port: 8011 })).status, 201)
  t.equal((await on.push({ listen_port: 8000, listen_port_end: 8010, protocol: 'udp' })).status, 201)
})

t.test('one grant must cover the whole range, and every target port must be allowed', async t => {
  const { on, clientId } = await rangeFixture(t)
  const ada = await on.user('ada')
  const outcome = async (body: object) => {
    const reply = await on.call<{ error?: { code: string } }>('POST', '/v1/rules', { ...rule, ...body }, ada)
    return reply.body.error?.code ?? 'created'
  }
  const grant = (from: number, to: number, targets: string[] | null, protocols = ['tcp']) =>
    on.call('POST', '/v1/grants', {
      user_id: 'ada',
      client_id: clientId,
      listen_port_start: from,
      listen_port_end: to,
      protocols,
      targets
    })
  const range = { listen_port: 8000, listen_port_end: 8019, targets: targetsAt(9000) }

  t.equal(await outcome(range), 'client_not_granted')
  await grant(8000, 8019, null, ['udp'])
  t.equal(await outcome(range), 'protocol_not_granted')
  await grant(8000, 8009, null)
  await grant(8010, 8019, null)
  t.equal(await outcome(range), 'port_outside_grant', 'two grants together do not cover it')
  await grant(7000, 8999, ['10.0.0.1:9000-9018'])
  t.equal(await outcome(range), 'target_not_granted')
  t.match(await outcome({ ...range, listen_port_end: 8018 }), 'target_filter_unsupported_by_client')
  await grant(7000, 8999, null)
  t.equal(await outcome(range), 'created')
})

t.test('without the plugin the field is unknown', async t => {
  const on = await rulesFixture(t)
  await on.connect(await on.enroll())

  t.match(await on.push({ listen_port_end: 8081 }), {
    status: 400,
    body: { error: { code: 'validation.unknown_field', details: { field: '/listen_port_end' } } }
  })
})
