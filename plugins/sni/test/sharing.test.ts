// Decides which SNI rules share a port.
import t from 'tap'
import { fieldMessage } from '../../../agent/wire/rule-field.ts'
import { inOrder } from '../../rules/test/fixture.ts'
import { RulePush } from '../../rules/wire.ts'
import { sniFallback, sniPattern } from '../fields.ts'
import { capableAgent, sniFixture } from './fixture.ts'

const legacy = 'conflict.legacy_to_sni_unsupported'
const duplicate = 'conflict.sni_route_duplicate'

t.test('a pattern is stored, shown, and sent to the client; so is a fallback', async t => {
  const { on, agent, pushRule } = await sniFixture(t)
  const { codec } = on.server.depsOf('rules')

  const named = await pushRule({ sni_pattern: '*.Example.org.' })
  const rest = await pushRule({ sni_fallback: true })
  const plain = await pushRule({ listen_port: 1, sni_pattern: null, sni_fallback: false })

  t.match(named.body, { sni_pattern: '*.example.org', sni_fallback: false })
  t.match(rest.body, { sni_pattern: null, sni_fallback: true })
  t.match(plain.body, { sni_pattern: null, sni_fallback: false })
  const fields = agent.received
    .filter(({ name }) => name === RulePush.name)
    .map(({ body }) => body['fields'] as Record<string, Uint8Array>)
  t.same(codec.decode(fieldMessage(sniPattern), fields[0]!['sni_pattern']!), { value: '*.example.org' })
  t.same(codec.decode(fieldMessage(sniFallback), fields[1]!['sni_fallback']!), { value: true })
  t.same(fields[2], {})
  t.match(await on.call('PUT', `/v1/rules/${rest.body.rule_id}`, await on.get(rest.body.rule_id)), {
    status: 200
  })
  t.match(
    await on.call('PUT', `/v1/rules/${rest.body.rule_id}`, {
      ...(await on.get(rest.body.rule_id)),
      sni_fallback: false
    }),
    {
      body: { error: { code: 'validation.rule_immutable_field', details: { field: '/sni_fallback' } } }
    }
  )
})

t.test('only TCP rules on one port can have names, and a fallback has none', async t => {
  const { outcome } = await sniFixture(t)

  for (const body of [
    { sni_pattern: 'a.example', protocol: 'udp' },
    { sni_fallback: true, protocol: 'udp' },
    { sni_pattern: 'a.example', listen_port_end: 8081 },
    { sni_fallback: true, listen_port_end: 8081 },
    { sni_fallback: true, sni_pattern: 'a.example' }
  ])
    t.equal(await outcome(body), 'validation.sni_on_unsupported_rule')
  t.equal(await outcome({ sni_pattern: '*.org' }), 'validation.sni_pattern_malformed')
  t.equal(await outcome({ sni_pattern: 7 }), 'validation.sni_pattern_malformed')
  t.equal(await outcome({ sni_pattern: 'a.example', sni_fallback: false, listen_port_end: 8080 }), 'created')
})

t.test('rules with different names share a port, rules with equal names do not', async t => {
  const { outcome } = await sniFixture(t)

  for (const sni_pattern of ['a.example.org', 'b.example.org', '*.example.org', '*.b.example.org'])
    t.equal(await outcome({ sni_pattern }), 'created', sni_pattern)
  for (const sni_pattern of ['a.example.org', 'A.Example.org.', '*.example.org'])
    t.equal(await outcome({ sni_pattern }), duplicate, sni_pattern)
  t.equal(await outcome({ sni_pattern: 'a.example.org', listen_port: 8081 }), 'created', 'on another port')
})

t.test('a pattern of one owner must not match a name of another', async t => {
  const { outcome } = await sniFixture(t)
  t.equal(await outcome({ sni_pattern: 'a.example.org' }, 'ada'), 'created')
  t.equal(await outcome({ sni_pattern: '*.example.com' }, 'ada'), 'created')

  for (const sni_pattern of ['*.example.org', 'x.example.com', '*.example.com', 'a.example.org'])
    t.equal(await outcome({ sni_pattern }, 'bob'), duplicate, sni_pattern)
  for (const sni_pattern of ['b.example.org', '*.a.example.org', 'example.com', 'x.y.example.com'])
    t.equal(await outcome({ sni_pattern }, 'bob'), 'created', sni_pattern)
  t.equal(await outcome({ sni_pattern: '*.example.org' }), duplicate, 'also when a superadmin places it')
  t.equal(
    await outcome({ sni_pattern: '*.example.org' }, 'ada'),
    duplicate,
    'b.example.org is now a name of bob'
  )
})

t.test('a port has one fallback; only a superadmin places it beside rules of another owner', async t => {
  const { outcome, pushRule, on } = await sniFixture(t)
  const first = await pushRule({ sni_fallback: true }, 'ada')

  t.equal(await outcome({ sni_fallback: true }, 'ada'), 'conflict.sni_fallback_duplicate')
  t.equal(await outcome({ sni_fallback: true }), 'conflict.sni_fallback_duplicate')
  t.equal(await outcome({ sni_pattern: 'a.example' }, 'ada'), 'created')
  t.equal(await outcome({ sni_pattern: 'b.example' }, 'bob'), 'role_required', "it takes ada's traffic")
  t.equal(await outcome({ sni_pattern: 'b.example', owner: 'bob' }), 'created')
  await on.call('DELETE', `/v1/rules/${first.body.rule_id}`)
  t.equal(await outcome({ sni_fallback: true }, 'ada'), 'role_required')
  t.equal(await outcome({ sni_fallback: true, owner: 'ada' }), 'created')
  t.equal(await outcome({ sni_pattern: 'c.example' }, 'bob'), 'created', 'a superadmin placed the fallback')
})

t.test('a rule or range without a name does not share a port with names', async t => {
  const { outcome } = await sniFixture(t)
  await outcome({ sni_pattern: 'a.example' })
  await outcome({ listen_port: 9000 })
  await outcome({ listen_port: 9010, listen_port_end: 9019 })
  await outcome({ listen_port: 9030, sni_fallback: true })

  t.equal(await outcome({}), legacy)
  t.equal(await outcome({ listen_port: 8000, listen_port_end: 8100 }), legacy)
  t.equal(await outcome({ listen_port: 9000, sni_pattern: 'a.example' }), legacy)
  t.equal(await outcome({ listen_port: 9015, sni_fallback: true }), legacy)
  t.equal(await outcome({ listen_port: 9030 }), legacy)
  t.equal(await outcome({ listen_port: 9000 }), 'port_in_use', 'two rules without names')
  t.equal(await outcome({ protocol: 'udp' }), 'created', 'UDP ports are separate')
})

t.test('a failed rule keeps its name, a draining one does not', async t => {
  const { on, clientId, agent, outcome, pushRule } = await sniFixture(t)
  await agent.close()
  const refusingAgent = await on.connect(clientId, {
    ...capableAgent,
    react: inOrder({ refuse: 'port_in_use' }, 'accept')
  })
  t.equal(await outcome({ listen_port: 9000, sni_pattern: 'a.example' }), 'port_in_use', 'by the agent')
  t.equal(await outcome({ listen_port: 9000, sni_pattern: 'a.example' }), duplicate)
  t.equal(await outcome({ listen_port: 9000 }), legacy)
  t.equal(refusingAgent.received.filter(({ name }) => name === RulePush.name).length, 1)
  const { rule_id } = (await pushRule({ sni_pattern: 'a.example' })).body
  await on.call('DELETE', `/v1/rules/${rule_id}`)

  t.equal(await outcome({ sni_pattern: 'a.example' }), 'created')
})
