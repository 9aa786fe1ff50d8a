// Access to explanations, and how server and agent combine them: a server and agents in this process, on a fake engine.
import t, { type Test } from 'tap'
import type { AgentPlugin } from '../../../agent/plugin.ts'
import { definePlugin } from '../../../kernel/plugin.ts'
import { runAgent, testServer } from '../../../kit/public.ts'
import { explainSlot } from '../../rules/exports.ts'
import type { Explanation } from '../schema.ts'
import { openTarget } from './places.ts'

interface Options {
  readonly plugins?: Parameters<typeof testServer>[1]
  readonly agent?: readonly AgentPlugin[]
}

async function openApp(t: Test, { plugins = {}, agent: halves = [] }: Options = {}) {
  const server = await testServer(t, plugins)
  const agent = await runAgent(t, server, 'paris', { plugins: halves })
  const hello = await openTarget(t, socket => void socket.write('hello'))
  const push = async (listen_port: number, more: object = {}): Promise<string> => {
    const body = { client: 'paris', listen_port, targets: [{ host: '127.0.0.1', port: hello }], ...more }
    return (await server.call<{ rule_id: string }>('POST', '/v1/rules', body)).body.rule_id
  }
  const grant = (user_id: string, client_id: string) =>
    server.call('POST', '/v1/grants', {
      ...{ user_id, client_id, protocols: ['tcp', 'udp'] },
      ...{ listen_port_start: 1, listen_port_end: 65_535 }
    })
  const ask = async (
    port: number,
    more: object = {},
    caller: Parameters<typeof server.as>[0] = 'operator'
  ) => {
    const body = { client: 'paris', port, protocol: 'tcp', ...more }
    return server.as(caller)<Explanation & { error: object }>('POST', '/v1/explain', body)
  }
  return { server, agent, push, grant, ask }
}

t.test('users see their own rules and nothing of others', async t => {
  const { server, agent, push, grant, ask } = await openApp(t)
  const ann = { user: 'ann' }
  for (const user of ['ann', 'bob']) await server.as({ user })('GET', '/v1/users/me')
  await push(8080, { owner: 'ann' })
  await push(8081, { owner: 'bob', sni_pattern: 'bob.example' })
  await push(8082, { owner: 'ann', sni_pattern: 'ann.example' })
  await push(8082, { owner: 'bob', sni_pattern: 'bob.example' })
  const other = await runAgent(t, server, 'oslo')
  const withoutPort = ({ status, text }: { status: number; text: string }, port: number) =>
    `${status} ${text.replaceAll(String(port), 'PORT')}`

  t.match((await ask(8080, {}, ann)).body, {
    outcome: 'forwarded',
    decided_by: { kind: 'rule', reason: 'active' }
  })
  const [taken, free] = [await ask(8081, {}, ann), await ask(8085, {}, ann)]
  t.match(taken.body, { outcome: 'no_rule' })
  t.equal(withoutPort(taken, 8081), withoutPort(free, 8085))
  const [bobs, nobodys] = [
    await ask(8082, { sni: 'bob.example' }, ann),
    await ask(8082, { sni: 'eve.example' }, ann)
  ]
  t.match(bobs.body, { outcome: 'refused', decided_by: { reason: 'sni_miss' } })
  t.equal(bobs.text, nobodys.text.replaceAll('eve', 'bob'))

  const clients = [other.clientId, 'oslo', '01ARZ3NDEKTSV4RRFFQ69G5FAV', 'nowhere']
  const refused = await Promise.all(clients.map(client => ask(8080, { client }, ann)))
  for (const [index, reply] of refused.entries()) {
    t.match(reply, { status: 403, body: { error: { code: 'client_not_granted' } } })
    t.equal(
      reply.text.replaceAll(clients[index] ?? '', ''),
      refused[0]?.text.replaceAll(clients[0] ?? '', '')
    )
  }
  await grant('ann', other.clientId)
  t.match((await ask(8080, { client: 'oslo' }, ann)).body, { outcome: 'no_rule' })
  t.match(await ask(8080, { client: 'nowhere' }), {
    status: 404,
    body: { error: { code: 'client_not_found' } }
  })
  t.equal((await ask(8080, { client: agent.clientId }, ann)).body.outcome, 'forwarded')
})

t.test('a probe is in the audit log with its port, and counts as no traffic', async t => {
  const { server, agent, push, ask } = await openApp(t)
  await push(8080)

  const { body } = await ask(8080, { probe: true })

  t.match(body, { outcome: 'forwarded', decided_by: { kind: 'target', reason: 'connected' } })
  t.ok((body.targets[0]?.connect_ms ?? -1) >= 0 && (body.targets[0]?.first_byte_ms ?? -1) >= 0)
  t.match(server.decisions.at(-1), {
    ...{ action: 'rule.explain', outcome: 'allow', status: 200 },
    ...{ resourceKind: 'port', resourceId: 'paris tcp/8080' }
  })
  t.match(agent.engine.sample().rules, [{ connectionsTotal: 0, rejected: {} }])
})

t.test('a test byte is in the audit log, and is sent once to the port itself', async t => {
  const { server, push, ask } = await openApp(t)
  const sent: string[] = []
  const port = await openTarget(t, socket => {
    socket.on('data', bytes => {
      sent.push(String(bytes))
      socket.write('ok')
    })
  })
  await push(port)

  const { body } = await ask(port, { test_byte: true })

  t.match(body.steps.at(-1), {
    ...{ kind: 'test_byte', id: `127.0.0.1:${port}`, verdict: 'pass' },
    text: /a byte was sent through the port; 2 bytes came back after/
  })
  t.same(sent, ['\n'])
  t.match(body, { outcome: 'forwarded', decided_by: { kind: 'rule' }, targets: [{ connect_ms: null }] })
  t.match(server.decisions.at(-1), { action: 'rule.explain', resourceId: `paris tcp/${port}` })
})

t.test(
  'for a group rule the answer covers the client asked about, under the id of the group rule',
  async t => {
    const { server, agent, push, ask } = await openApp(t)
    const oslo = await runAgent(t, server, 'oslo')
    const rule_id = await push(8080, { client: undefined, clients: { ids: [agent.clientId, oslo.clientId] } })
    await oslo.stop()

    const [paris, offline] = [await ask(8080), await ask(8080, { client: 'oslo' })]

    t.match(paris.body, { outcome: 'forwarded', decided_by: { kind: 'rule', id: rule_id } })
    t.match(
      paris.body.steps.find(({ kind }) => kind === 'group'),
      { text: 'the rule is on 2 clients; this explains one of them' }
    )
    t.match(offline.body, {
      outcome: 'unknown',
      decided_by: { id: oslo.clientId, reason: 'client_not_connected' }
    })
    t.match(offline.body.steps.at(-1), { verdict: 'stop', reason: 'client_not_connected' })
  }
)

t.test('a third-party plugin explains its own decisions, on the server and on the agent', async t => {
  const half = { name: 'acme-doors', agent: '^1.5.0' }
  const stranger = definePlugin({
    ...{ name: 'acme-doors', version: '1.0.0', kernel: '^2.0.0', needs: { rules: '^1.0.0' } },
    fills: [
      explainSlot.fill({
        explain: async ({ port }) => [
          { kind: 'door', id: `${port}`, verdict: 'pass', reason: null, text: 'the door is open' }
        ]
      })
    ]
  })
  const edge: AgentPlugin = {
    ...half,
    explain: ({ source }) => [
      {
        kind: 'door',
        id: 'edge',
        verdict: source === null ? 'info' : 'stop',
        reason: 'door_shut',
        text: 'x'.repeat(600)
      }
    ]
  }
  const broken: AgentPlugin = {
    ...{ name: 'acme-broken', agent: '^1.5.0' },
    explain() {
      throw new Error('ouch')
    }
  }
  const { push, ask } = await openApp(t, { plugins: { plugins: [stranger] }, agent: [broken, edge] })
  await push(8080)

  const { steps } = (await ask(8080)).body
  t.match(
    steps.find(({ id }) => id === '8080'),
    { kind: 'door', verdict: 'pass' }
  )
  t.match(
    steps.find(({ kind }) => kind === 'plugin'),
    { id: 'acme-broken', verdict: 'info', reason: 'internal' }
  )
  t.equal(steps.find(({ id }) => id === 'edge')?.text.length, 500)
  t.match((await ask(8080, { source: '192.0.2.1' })).body, {
    outcome: 'refused',
    decided_by: { kind: 'door', id: 'edge', reason: 'door_shut' }
  })
})

t.test('the server explains a rule closed by a field, even while the client is offline', async t => {
  const { server, agent, push, ask } = await openApp(t)
  const not_before = new Date(server.clock.now() + 3_600_000).toISOString()
  await push(8080, { not_before })
  await push(8081, { paused: true })
  await agent.stop()

  t.match((await ask(8080)).body, {
    outcome: 'refused',
    decided_by: { kind: 'schedule', reason: 'outside_schedule' }
  })
  t.match((await ask(8081)).body, { outcome: 'refused', decided_by: { kind: 'rule', reason: 'paused' } })
})

t.test('an error names the invalid field of a question', async t => {
  const { ask } = await openApp(t)

  for (const [field, value] of Object.entries({
    port: 0,
    protocol: 'sctp',
    source: 'here',
    sni: 'a b',
    probe: 1
  }))
    t.match(await ask(8080, { [field]: value }), { status: 400, text: new RegExp(`/${field}`) })
})

t.test(
  'a question takes TCP in any case, as rules do, and refuses other protocols by their code',
  async t => {
    const { push, ask } = await openApp(t)
    await push(8080)

    for (const protocol of ['tcp', 'TCP', 'Tcp'])
      t.match(await ask(8080, { protocol }), { status: 200, body: { outcome: 'forwarded' } }, protocol)
    t.match(await ask(8080, { protocol: 'UDP' }), {
      status: 200,
      body: { outcome: 'no_rule', steps: [{}, { id: 'udp/8080' }] }
    })
    for (const protocol of ['sctp', '', ' tcp', 'tcp\n', 'tcpx', 6, null, ['tcp']])
      t.match(
        await ask(8080, { protocol }),
        { status: 400, body: { error: { code: 'validation.protocol', details: { field: '/protocol' } } } },
        JSON.stringify(protocol)
      )
  }
)

t.test('a probe opens no socket beyond the descriptors of the owner, and gives all of them back', async t => {
  const { agent, push, ask } = await openApp(t)
  let calls = 0
  const target = await openTarget(t, socket => {
    calls++
    socket.write('hello')
  })
  await push(8080, { targets: [{ host: '127.0.0.1', port: target }] })
  const free = agent.engine.freeDescriptors

  agent.engine.freeDescriptors = 0
  const refused = await ask(8080, { probe: true })

  t.match(refused, { body: { decided_by: { kind: 'target', reason: 'descriptors' } } })
  t.equal(calls, 0)

  agent.engine.freeDescriptors = free
  t.match(await ask(8080, { probe: true }), { body: { outcome: 'forwarded' } })
  t.equal(calls, 1)
  t.equal(agent.engine.freeDescriptors, free)
})

t.test('an owner with probes that fill an agent does not keep others from probing', async t => {
  const { server, agent, push, grant, ask } = await openApp(t)
  const silent = await openTarget(t, () => {})
  const [ann, bob, root] = (['ann', 'bob', 'root'] as const).map(user => ({
    user,
    role: user === 'root' ? ('superadmin' as const) : ('user' as const),
    by: 'api_token' as const
  }))
  for (const caller of [ann!, bob!]) {
    await server.as(caller)('GET', '/v1/users/me')
    await grant(caller.user, agent.clientId)
  }
  await push(8080, { owner: 'ann', targets: [{ host: '127.0.0.1', port: silent }] })
  const ofBob = await push(8081, { owner: 'bob' })
  const probe = (port: number, caller: Parameters<typeof ask>[2]) => ask(port, { probe: true }, caller)

  const noisy = ['operator' as const, ann!, root!].flatMap(caller => [
    probe(8080, caller),
    probe(8080, caller)
  ])
  t.match(await Promise.race(noisy), {
    body: { outcome: 'unknown', decided_by: { reason: 'too_many_probes' } }
  })
  const quiet = await probe(8081, bob!)
  const change = await server.call<{ state: string }>('PATCH', `/v1/rules/${ofBob}`, {
    targets: [{ host: '127.0.0.1', port: silent }]
  })

  t.equal(change.body.state, 'active', 'changes do not wait for probes')
  t.match(quiet, { status: 200, body: { outcome: 'forwarded', decided_by: { kind: 'target' } } })
  await server.clock.advance(3_000)
  await Promise.all(noisy)
})

t.test('explain tells the refusal by a guard of a plugin that explains nothing', async t => {
  const blocklist: AgentPlugin = {
    name: 'blocklist',
    agent: '^1.6.0',
    plan(draft) {
      const guard = { allow: null, deny: ['listed'], live: 'reset', refusal: 'listed' } as const
      draft.addressGuards = [...draft.addressGuards, guard]
    }
  }
  const { agent, push, ask } = await openApp(t, { agent: [blocklist] })
  await push(8080)
  agent.engine.changeAddresses('listed', { add: ['192.0.2.0/24'], remove: [] })

  t.match((await ask(8080, { source: '192.0.2.7' })).body, {
    outcome: 'refused',
    decided_by: { kind: 'source', id: '192.0.2.7', reason: 'listed' }
  })
  t.equal((await ask(8080, { source: '198.51.100.7' })).body.outcome, 'forwarded')
})

t.test(
  'explain names the divert of a source and its targets, and stops the caller if it is full',
  async t => {
    const decoy = await openTarget(t, socket => void socket.write('decoy'))
    const honeypot: AgentPlugin = {
      name: 'honeypot',
      agent: '^1.6.0',
      plan(draft) {
        const targets = [{ host: '127.0.0.1', port: decoy }]
        const refusalBeyond = { max: 2, reason: 'honeypot_full' }
        draft.diverts = [...draft.diverts, { name: 'honeypot', from: ['honeypot'], targets, refusalBeyond }]
      }
    }
    const { agent, push, ask } = await openApp(t, { agent: [honeypot] })
    await push(8080)
    agent.engine.changeAddresses('honeypot', { add: ['192.0.2.0/24'], remove: [] })
    const counted = (active: number) =>
      agent.engine.setCounters(agent.engine.opened.at(-1)?.id ?? 0, {
        diverts: [{ name: 'honeypot', bytesIn: 0, bytesOut: 0, connectionsTotal: 2, active }]
      })
    counted(1)

    t.match((await ask(8080, { source: '192.0.2.7', probe: true })).body, {
      outcome: 'forwarded',
      decided_by: { kind: 'target', id: `127.0.0.1:${decoy}` },
      targets: [{ port: decoy }],
      steps: [
        ...Array(3).fill(Object),
        { kind: 'divert', id: 'honeypot', reason: 'diverted', verdict: 'info' }
      ]
    })
    const told = (await ask(8080, { source: '192.0.2.7' })).body.steps.find(({ kind }) => kind === 'divert')
    t.equal(
      told?.text,
      `honeypot diverts callers from 192.0.2.7 to 127.0.0.1:${decoy}, at most 2 at once; 1 is open`
    )
    t.notMatch((await ask(8080, { source: '198.51.100.7' })).text, /honeypot/)
    t.match((await ask(8080)).text, /the address of a caller decides whether honeypot diverts it/)

    counted(2)
    t.match((await ask(8080, { source: '192.0.2.7' })).body, {
      outcome: 'refused',
      decided_by: { kind: 'divert', id: 'honeypot', reason: 'honeypot_full' },
      targets: []
    })
  }
)
