// Properties of a rule that need a capability of the agent. Without a list of capabilities, the version decides.
import t, { type Test } from 'tap'
import { type DeclaredField, fieldMessage } from '../../../agent/wire/rule-field.ts'
import { Client } from '../../../kernel/identity/entities.ts'
import { Targets } from '../../grants/wire.ts'
import { field as healthCheck } from '../../multi-target/field.ts'
import { Limits } from '../../rate-limit/wire.ts'
import { fields as sniFields } from '../../sni/fields.ts'
import { messages } from '../wire.ts'
import { rule, rulesFixture, until } from './fixture.ts'

const plugins = [
  'users',
  'clients',
  'rules',
  'grants',
  'udp',
  'port-range',
  'multi-target',
  'sni',
  'rate-limit'
]
const declared: readonly DeclaredField[] = [healthCheck, ...sniFields]
const agentMessages = [...messages, ...declared.map(field => fieldMessage(field)), Limits, Targets]

interface RulePart {
  readonly body: object
  readonly code: string // of the refusal
  readonly capability: string
  readonly since: string
  readonly by?: 'ada' // her grant has a list of targets
}

const twoTargets = [...rule.targets, { host: '10.0.0.2', port: 80 }]
const ruleParts: readonly RulePart[] = [
  { body: { protocol: 'udp' }, code: 'unsupported_protocol', capability: 'rule.udp', since: '0.4.0' },
  {
    body: { targets: twoTargets },
    code: 'multi_target_unsupported_by_client',
    capability: 'rule.multi-target',
    since: '0.7.0'
  },
  {
    body: { sni_pattern: 'a.example' },
    code: 'sni_unsupported_by_client',
    capability: 'rule.sni',
    since: '0.9.0'
  },
  { body: { sni_fallback: true }, code: 'sni_unsupported_by_client', capability: 'rule.sni', since: '0.9.0' },
  {
    body: { rate_limit: { concurrent_connections: 1 } },
    code: 'rate_limit_unsupported_by_client',
    capability: 'rule.rate-limit',
    since: '0.11.0'
  },
  {
    body: { listen_port_end: 8081 },
    code: 'rule_field_unsupported_by_client',
    capability: 'rule.range',
    since: '0.1.0'
  },
  {
    body: { health_check_interval_secs: 9 },
    code: 'rule_field_unsupported_by_client',
    capability: 'rule.health-check',
    since: '2.0.0'
  },
  {
    body: {},
    code: 'target_filter_unsupported_by_client',
    capability: 'rule.target-filter',
    since: '2.0.0',
    by: 'ada'
  }
]

const versions = [
  '0.3.0',
  '0.3.9',
  '0.4.0',
  '0.5.0',
  '0.6.0',
  '0.6.9',
  '0.7.0',
  '0.8.0',
  '0.8.9',
  '0.9.0',
  '0.10.0',
  '0.10.9',
  '0.11.0',
  '0.12.0',
  '0.13.0',
  '0.14.0',
  '1.4.0',
  '1.7.0',
  '1.99.0',
  '2.0.0',
  '2.1.0'
]

const atLeast = (version: string, since: string): boolean => {
  const [a, b] = [version, since].map(text => text.split('.').map(Number))
  const at = [0, 1, 2].find(at => a?.[at] !== b?.[at])
  return at === undefined || (a?.[at] ?? 0) > (b?.[at] ?? 0)
}

async function capabilityFixture(t: Test) {
  const app = await rulesFixture(t, { plugins })
  const ada = await app.user('ada')
  const grant = { user_id: 'ada', client_id: '*', listen_port_start: 1, listen_port_end: 65535 }
  await app.call('POST', '/v1/grants', { ...grant, protocols: ['tcp'], targets: ['10.0.0.0/8'] })
  let port = 10_000
  /** Pushes a rule with the part and deletes it again. Returns 'accepted' or the error code. */
  async function pushOutcome({ body, by }: RulePart, client: string) {
    port += 2
    const range = 'listen_port_end' in body ? { listen_port_end: port + 1 } : {}
    const request = { ...rule, client, listen_port: port, ...body, ...range }
    const made = await app.call<{ rule_id: string; error: { code: string; message: string } }>(
      'POST',
      '/v1/rules',
      request,
      by ? ada : {}
    )
    if (made.status === 201) await app.call('DELETE', `/v1/rules/${made.body.rule_id}`)
    return made.status === 201 ? 'accepted' : made.body.error.code
  }
  return { app, pushOutcome }
}

t.test('without a capability map in Hello, the version of the agent decides', async t => {
  const { app, pushOutcome } = await capabilityFixture(t)

  for (const version of versions) {
    const id = await app.enroll(`v${version}`)
    const agent = await app.connect(id, { version, capabilities: null, messages: agentMessages })
    for (const part of ruleParts)
      t.equal(
        await pushOutcome(part, id),
        atLeast(version, part.since) ? 'accepted' : part.code,
        `${version} ${part.capability}`
      )
    await agent.close()
  }
})

t.test('a capability map in Hello decides alone: absent, older, equal, newer', async t => {
  const { app, pushOutcome } = await capabilityFixture(t)

  for (const part of ruleParts)
    for (const [version, outcome] of [
      [undefined, part.code],
      ['0.0.9', part.code],
      ['rubbish', part.code],
      [part.since, 'accepted'],
      ['9.0.0', 'accepted']
    ] as const) {
      const id = await app.enroll()
      const capabilities = version === undefined ? {} : { [part.capability]: version }
      const agent = await app.connect(id, { version: '2.0.0', capabilities, messages: agentMessages })
      t.equal(await pushOutcome(part, id), outcome, `${part.capability} ${version}`)
      await agent.close()
    }
})

t.test('a disabled capability refuses only the part that requires it', async t => {
  const { app, pushOutcome } = await capabilityFixture(t)
  const all = Object.fromEntries(ruleParts.map(({ capability, since }) => [capability, since]))

  for (const part of ruleParts) {
    const { [part.capability]: _, ...capabilities } = all
    const id = await app.enroll()
    const agent = await app.connect(id, { capabilities, messages: agentMessages })
    for (const other of ruleParts)
      t.equal(await pushOutcome(other, id), other.capability === part.capability ? part.code : 'accepted')
    await agent.close()
  }
})

t.test('for a disconnected client its last known version and capabilities decide', async t => {
  const { app } = await capabilityFixture(t)
  const { store } = app.server.depsOf('rules')
  const limited = { rate_limit: { concurrent_connections: 1 } }

  for (const [version, capabilities, status] of [
    ['0.10.0', null, 422],
    ['0.11.0', null, 200],
    ['2.0.0', {}, 422],
    ['2.0.0', { 'rule.rate-limit': '0.11.0' }, 200]
  ] as const) {
    const id = await app.enroll()
    const agent = await app.connect(id, { version, capabilities, messages: agentMessages })
    const { rule_id } = (await app.push({ client: id })).body
    await agent.close()
    await until(
      async () => app.server.depsOf('rules').control.peers.find(id),
      peer => peer === undefined
    )
    t.equal((await app.call('PUT', `/v1/rules/${rule_id}`, limited)).status, status, `${version}`)
    const seen = await store.read(em => em.findOneOrFail(Client, { id }))
    t.equal(seen.agentVersion, version)
  }
})
