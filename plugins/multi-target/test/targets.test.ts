// Rules with several targets, and target health as reported by agents.
import t, { type Test } from 'tap'
import { fieldMessage } from '../../../agent/wire/rule-field.ts'
import { rulesFixture, until } from '../../rules/test/fixture.ts'
import { RulePush, messages as ruleMessages } from '../../rules/wire.ts'
import { field } from '../field.ts'
import { Health, messages, targetsCapability, targetsMark } from '../wire.ts'

const plugins = ['users', 'clients', 'rules', 'udp', 'multi-target']
const capableAgent = {
  capabilities: {
    [targetsCapability.id]: targetsCapability.since,
    [field.capability.id]: field.capability.since,
    'rule.udp': '1.0.0',
    'rule.update': '2.1.0'
  },
  messages: [...ruleMessages, ...messages, fieldMessage(field)]
}
const targets = [
  { host: '10.0.0.1', port: 80, priority: 7 },
  { host: '10.0.0.2', port: 80, priority: 3 }
]
const unknown = {
  state: 'unknown',
  reason: null,
  source: null,
  consecutive_failures: 0,
  last_failure_at: null,
  last_success_at: null
}

async function targetsFixture(t: Test) {
  const on = await rulesFixture(t, { plugins })
  const clientId = await on.enroll()
  const agent = await on.connect(clientId, capableAgent)
  return { on, clientId, agent }
}

t.test('a rule has 1 to 8 different targets, in the order of their priorities', async t => {
  const { on, agent } = await targetsFixture(t)
  const many = (count: number) =>
    Array.from({ length: count }, (_, at) => ({ host: `10.0.0.${at + 1}`, port: 80 }))

  t.match(await on.push({ targets: many(8) }), { status: 201 })
  t.match(
    (await agent.until(RulePush.name)).body['targets'],
    many(8).map((target, priority) => ({ ...target, priority }))
  )
  t.match(await on.push({ listen_port: 1, targets: many(9) }), {
    status: 400,
    body: { error: { code: 'validation.targets_too_many' } }
  })
  t.match(await on.push({ listen_port: 1, targets: [...many(2), ...many(1)] }), {
    status: 400,
    body: { error: { code: 'validation.targets_duplicate' } }
  })
})

t.test('an interval of 1 s to an hour is stored and sent; UDP rules refuse it', async t => {
  const { on, agent } = await targetsFixture(t)
  const key = 'health_check_interval_secs'

  t.match(await on.push({ [key]: 3600 }), { status: 201, body: { [key]: 3600 } })
  const { fields } = (await agent.until(RulePush.name)).body as { fields: Record<string, Uint8Array> }
  t.same(on.server.depsOf('rules').codec.decode(fieldMessage(field), fields[key]!), { value: 3600 })
  t.match(await on.push({ listen_port: 1 }), { status: 201, body: { [key]: null } })
  for (const secs of [0, 3601, 1.5])
    t.match(await on.push({ listen_port: 2, [key]: secs }), {
      status: 400,
      body: { error: { code: 'validation.schema' } }
    })
  t.match(await on.push({ listen_port: 2, protocol: 'udp', [key]: 5 }), {
    status: 400,
    body: { error: { code: 'validation.health_on_udp' } }
  })
})

t.test('reported health is shown with the targets, in the order of the rule', async t => {
  const { on, agent } = await targetsFixture(t)
  const { rule_id } = (await on.push({ targets })).body
  t.match(await on.get(rule_id), { targets: [{ health: unknown }, { health: unknown }] })

  agent.channel.send(Health, {
    rules: [
      {
        rule_id,
        targets: [
          { state: 'failed', consecutive_failures: 3, last_failure_ms: 1_700_000_000_000 },
          { state: 'healthy', consecutive_failures: 0, last_success_ms: 1_700_000_000_000 }
        ]
      }
    ]
  })

  const shown = await until(
    () => on.get(rule_id),
    ({ targets }) => JSON.stringify(targets).includes('failed')
  )
  const at = '2023-11-14T22:13:20.000Z'
  t.match(shown.targets, [
    { priority: 7, health: { ...unknown, state: 'healthy', last_success_at: at } },
    {
      priority: 3,
      health: { state: 'failed', consecutive_failures: 3, last_failure_at: at, last_success_at: null }
    }
  ])
  t.match(await on.call('GET', '/v1/rules'), { body: [{ targets: shown.targets }] })
})

t.test('a failed target is shown with the reason and the source of its state', async t => {
  const { on, agent } = await targetsFixture(t)
  const { rule_id } = (await on.push()).body

  const dead = { consecutive_failures: 1, reason: 'dns_nxdomain', source: 'probe' } as const
  agent.channel.send(Health, { rules: [{ rule_id, targets: [{ ...dead, state: 'failed' }] }] })
  const shown = await until(
    () => on.get(rule_id),
    ({ targets }) => JSON.stringify(targets).includes('failed')
  )
  t.match(shown.targets, [{ health: { state: 'failed', reason: 'dns_nxdomain', source: 'probe' } }])

  const back = { consecutive_failures: 0, source: 'traffic', state: 'healthy' } as const
  agent.channel.send(Health, { rules: [{ rule_id, targets: [back] }] })
  const healed = await until(
    () => on.get(rule_id),
    ({ targets }) => JSON.stringify(targets).includes('healthy')
  )
  t.match(healed.targets, [{ health: { state: 'healthy', reason: null, source: 'traffic' } }])
})

t.test('a new target does not inherit the health of the target in its place', async t => {
  const { on, agent } = await targetsFixture(t)
  const { rule_id } = (await on.push({ targets })).body
  const healthy = { state: 'healthy', consecutive_failures: 0 } as const
  const first = { host: '10.0.0.1', port: 80 }
  const second = { host: '10.0.0.2', port: 80 }
  const added = { host: '10.0.0.3', port: 80 }
  const report = (present: readonly { host: string; port: number }[], reason: string) =>
    agent.channel.send(Health, {
      rules: [
        {
          rule_id,
          targets: present.map(() => ({ ...healthy, ejected_reason: reason })),
          targets_mark: targetsMark(present)
        }
      ]
    })
  const shows = (reason: string) =>
    until(
      () => on.get(rule_id),
      ({ targets }) => JSON.stringify(targets).includes(reason)
    )
  report([second, first], 'before')
  await shows('before')

  t.match(await on.call('PATCH', `/v1/rules/${rule_id}`, { targets: [second, added] }), { status: 200 })

  const changed = [{ health: { state: 'healthy' } }, { health: unknown }]
  t.match(await on.get(rule_id), { targets: changed }, 'a remaining target keeps its health')
  report([second, first], 'late') // sent before the agent got the change
  report([second, added], 'after')
  const { targets: shown } = await shows('after')
  t.notMatch(JSON.stringify(shown), 'late')
  t.match(shown, [{ health: { ejected_reason: 'after' } }, { health: { ejected_reason: 'after' } }])
})

t.test('health is unknown for rules of another client and of an offline client', async t => {
  const { on, agent } = await targetsFixture(t)
  const { rule_id } = (await on.push({ targets })).body
  const otherAgent = await on.connect(await on.enroll('other'), capableAgent)
  const report = {
    rules: [{ rule_id, targets: [1, 2].map(() => ({ state: 'healthy' as const, consecutive_failures: 0 })) }]
  }

  otherAgent.channel.send(Health, report)
  await on.push({ client: 'other', listen_port: 3 })
  t.match(await on.get(rule_id), { targets: [{ health: unknown }, { health: unknown }] })
  agent.channel.send(Health, report)
  await until(
    () => on.get(rule_id),
    ({ targets }) => JSON.stringify(targets).includes('healthy')
  )
  await agent.close()
  await until(
    () => on.get(rule_id),
    ({ targets }) => !JSON.stringify(targets).includes('healthy')
  )
})

t.test('impossible health is ignored, and no value breaks a route', async t => {
  const { on, clientId, agent } = await targetsFixture(t)
  const { rule_id } = (await on.push({ targets })).body
  const { rule_id: second } = (await on.push({ listen_port: 2, targets })).body
  const of = (id: string, ms: number, count = 2) => ({
    rule_id: id,
    targets: Array.from({ length: count }, () => ({
      state: 'failed' as const,
      consecutive_failures: 1,
      last_failure_ms: ms
    }))
  })
  const now = on.clock.now()

  agent.channel.send(Health, {
    rules: [of(rule_id, 8.64e15), of(rule_id, now, 1), of(rule_id, now, 3), of(second, now + 3_600_000)]
  })

  const shown = await until(
    () => on.get(second),
    ({ targets }) => JSON.stringify(targets).includes('failed')
  )
  const [first] = shown.targets as unknown as { health: { last_failure_at: string } }[]
  t.ok(Date.parse(first?.health.last_failure_at ?? '') <= on.clock.now(), 'an hour ahead is shown as now')
  t.match(await on.call('GET', '/v1/rules'), {
    status: 200,
    body: [{ rule_id, targets: [{ health: unknown }, { health: unknown }] }, { rule_id: second }]
  })
  t.match(
    on.log.filter(({ event }) => event === 'agent.row_refused'),
    [{ fields: { client: clientId, report: 'health', reason: 'time', rule: rule_id } }]
  )
})

t.test('known target health is a metric, and so is why a target has failed', async t => {
  const { on, agent, clientId } = await targetsFixture(t)
  const { rule_id } = (await on.push({ targets })).body
  const { rule_id: single } = (await on.push({ listen_port: 1 })).body
  const { rule_id: checked } = (await on.push({ listen_port: 2, health_check_interval_secs: 5 })).body
  const samples = async (of = 'svc_rule_target_healthy') => {
    const found = await Promise.all(
      on.server
        .depsOf('http')
        .metrics()
        .map(({ value: collect }) => collect())
    )
    return [...(found.flat().find(({ name }) => name === of)?.samples ?? [])]
  }
  t.same(await samples(), [])
  const healthy = { state: 'healthy' as const, consecutive_failures: 0 }
  const failed = { state: 'failed' as const, consecutive_failures: 3 }

  agent.channel.send(Health, {
    rules: [
      { rule_id: single, targets: [{ ...failed, reason: 'dns_nxdomain', source: 'probe' }] },
      { rule_id: checked, targets: [failed] },
      { rule_id, targets: [failed, healthy] } // by priority
    ]
  })
  await until(samples, found => found.length === 4)

  const of = (rule: string, target: string, value: number) => ({
    labelValues: [clientId, '_operator', rule, target],
    value
  })
  t.same(
    (await samples()).toSorted((a, b) => (String(a.labelValues) < String(b.labelValues) ? -1 : 1)),
    [
      of(rule_id, '10.0.0.1:80', 1),
      of(rule_id, '10.0.0.2:80', 0),
      of(single, '10.0.0.1:80', 0),
      of(checked, '10.0.0.1:80', 0)
    ].toSorted((a, b) => (String(a.labelValues) < String(b.labelValues) ? -1 : 1))
  )
  const why = (await samples('svc_rule_target_failed')).map(({ labelValues }) => labelValues.slice(2))
  t.same(
    why.toSorted(),
    [
      [rule_id, '10.0.0.2:80', '', ''],
      [single, '10.0.0.1:80', 'dns_nxdomain', 'probe'],
      [checked, '10.0.0.1:80', '', '']
    ].toSorted()
  )
  const ejected = new Set((await samples('svc_rule_target_ejected')).map(({ labelValues }) => labelValues[2]))
  t.same(ejected, new Set([rule_id, checked]), 'a rule without a choice ejects none')
})

t.test('health is shown for new targets while former targets stay stored for their last bytes', async t => {
  const { on, agent } = await targetsFixture(t)
  const { rule_id } = (await on.push({ targets })).body
  const next = [
    { host: '10.0.0.3', port: 80, priority: 0 },
    { host: '10.0.0.4', port: 80, priority: 1 }
  ]
  const body = { client: 'edge', listen_port: 8080, targets: next }
  t.match(await on.call('PUT', `/v1/rules/${rule_id}/definition`, body), { status: 200 })

  const health = { state: 'healthy' as const, consecutive_failures: 0 }
  agent.channel.send(Health, { rules: [{ rule_id, targets: [health, health] }] })

  const shown = await until(
    () => on.get(rule_id),
    ({ targets }) => JSON.stringify(targets).includes('healthy')
  )
  t.match(shown.targets, [{ host: '10.0.0.3', health: { state: 'healthy' } }, { host: '10.0.0.4' }])
})
