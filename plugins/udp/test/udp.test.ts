import t from 'tap'
import { openCodec } from '../../../kernel/wire/codec.ts'
import { rulesFixture } from '../../rules/test/fixture.ts'
import { RulePush } from '../../rules/wire.ts'
import udp from '../agent.ts'
import { capability, Settings, settingsPart } from '../wire.ts'

const plugins = ['users', 'clients', 'rules', 'grants', 'udp']
const capableAgent = { capabilities: { [capability.id]: capability.since } }

t.test('a client that supports UDP receives a UDP rule and a TCP rule on the same port', async t => {
  const on = await rulesFixture(t, { plugins })
  const agent = await on.connect(await on.enroll(), capableAgent)

  t.match(await on.push({ protocol: 'Udp' }), { status: 201, body: { protocol: 'udp' } })
  t.equal((await on.push()).status, 201)
  t.match(await on.push({ protocol: 'udp' }), { status: 409, body: { error: { code: 'port_in_use' } } })
  t.match((await agent.until(RulePush.name)).body, { protocol: 'udp' })
})

t.test('grants apply by protocol', async t => {
  const on = await rulesFixture(t, { plugins })
  const clientId = await on.enroll()
  await on.connect(clientId, capableAgent)
  const ada = await on.user('ada')
  const grant = { user_id: 'ada', client_id: clientId, listen_port_start: 8000, listen_port_end: 8999 }
  await on.call('POST', '/v1/grants', { ...grant, protocols: ['udp'] })
  const body = { client: 'edge', listen_port: 8080, targets: [{ host: '10.0.0.1', port: 80 }] }

  t.match(await on.call('POST', '/v1/rules', body, ada), {
    body: { error: { code: 'protocol_not_granted' } }
  })
  t.equal((await on.call('POST', '/v1/rules', { ...body, protocol: 'udp' }, ada)).status, 201)
})

t.test(
  'the agent gets the flow limit and idle time with Welcome, and applies them to later rules',
  async t => {
    const on = await rulesFixture(t, {
      plugins,
      keys: { udp_max_flows_per_rule: 65_535, udp_flow_idle_secs: 7 }
    })
    const agent = await on.connect(await on.enroll(), capableAgent)
    const part = agent.welcome.parts[settingsPart]!
    const codec = openCodec([Settings])
    const configured: object[] = []

    t.same(codec.decode(Settings, part), { max_flows_per_rule: 65_535, flow_idle_secs: 7 })
    const call = { codec, rules: { configure: (settings: object) => void configured.push(settings) } }
    udp.connected({ welcomePart: (key: string) => agent.welcome.parts[key] } as never, call as never)
    t.same(configured, [{ udpFlowCap: 65_535, udpIdleMs: 7000 }])
  }
)
