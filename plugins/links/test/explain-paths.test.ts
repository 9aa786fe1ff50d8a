// The hops of a path in explanations: scripted agents say what each client does with a request.
import t, { type Test } from 'tap'
import { type ScriptedAgent, scriptedResponse } from '../../../kit/scripted-agent.ts'
import type { Explanation } from '../../explain/schema.ts'
import { Ask, capability as explainCapability, type Report } from '../../explain/wire.ts'
import { Grant } from '../../grants/entities.ts'
import { until } from '../../rules/test/fixture.ts'
import { HopCheck, type HopState } from '../wire.ts'
import { plugins, script, type ViaFixture, viaFixture } from './via-fixture.ts'

type Name = keyof ViaFixture['ids']
type ViaTarget = Explanation['targets'][number] & { via: string[] | null; link_ms: number | null }
type Answer = Omit<Explanation, 'targets'> & { targets: ViaTarget[] }

const target = { host: '10.0.0.1', port: 80 }
const up: HopState = { state: 'up', is_exhausted: false, rtt_ms: 38 }
const pass = { kind: 'link', verdict: 'pass' }

/** Agents with answers that a test sets: `hops` by client, `report` of the entry. */
async function open(t: Test, names: readonly Name[] = ['edge', 'relay', 'exit']) {
  const app = await viaFixture(t, { plugins: [...plugins, 'grants', 'explain', 'audit'] })
  const hops: Partial<Record<Name, HopState>> = { edge: up, relay: up, exit: { is_exhausted: false } }
  let report: Report = { steps: [], targets: [target] }
  const asked: Ask[] = []
  const agents: Partial<Record<Name, ScriptedAgent>> = {}
  for (const name of names)
    agents[name] = await app.agent(name, {
      capabilities: { ...script.capabilities, [explainCapability.id]: explainCapability.since },
      messages: [...(script.messages ?? []), Ask, Ask.response, HopCheck, HopCheck.response],
      responses: [
        ...(script.responses ?? []),
        scriptedResponse(HopCheck, () => hops[name] ?? { is_exhausted: false }),
        scriptedResponse(Ask, question => {
          asked.push(question)
          return report
        })
      ]
    })
  const explain = async (more: object = {}, headers: Record<string, string> = {}) => {
    const body = { client: 'edge', port: 8080, protocol: 'tcp', ...more }
    return (await app.call<Answer>('POST', '/v1/explain', body, headers)).body
  }
  const linkIds = async (): Promise<string[]> => {
    const { body } = await app.call<{ link_id: string; clients: { client_id: string }[] }[]>(
      'GET',
      '/v1/links'
    )
    const from = (id: string) => body.find(({ clients: [near] }) => near?.client_id === id)?.link_id ?? ''
    return [from(app.ids.edge), from(app.ids.relay)]
  }
  const setReport = (next: Report): void => {
    report = next
  }
  return { app, agents, hops, asked, explain, linkIds, setReport }
}

t.test('each hop of the path is a step between the decisions of the agent and the targets', async t => {
  const { app, explain, linkIds, setReport } = await open(t)
  await app.push({ via: ['relay', 'exit'], targets: [target] })
  const [first, second] = await linkIds()
  const listens = { kind: 'rule', id: 'x', verdict: 'pass', text: 'open' } as const
  const reached = {
    kind: 'target',
    id: '10.0.0.1:80',
    verdict: 'pass',
    reason: 'connected',
    text: 'ok'
  } as const
  const measured = { address: '10.0.0.1', dns_ms: 0, connect_ms: 1.2, path_ms: 39 }
  setReport({ steps: [listens, reached], targets: [{ ...target, ...measured }] })

  const { outcome, decided_by, steps, targets } = await explain({ probe: true })

  t.match([outcome, decided_by], ['forwarded', { kind: 'target' }])
  t.match(steps.slice(-4), [
    listens,
    { ...pass, id: first, text: 'the link from edge to relay is up, round trip 38 ms' },
    { ...pass, id: second, text: 'the link from relay to exit is up, round trip 38 ms' },
    reached
  ])
  const via = [app.ids.relay, app.ids.exit]
  t.strictSame(targets, [
    { ...target, priority: 0, address: '10.0.0.1', dns_ms: 0, connect_ms: 1.2, via, link_ms: 39 }
  ])
})

const refusals: readonly (readonly [
  why: string,
  hops: Partial<Record<Name, HopState>>,
  hop: 0 | 1,
  reason: string
])[] = [
  ['a link that is down', { edge: { ...up, state: 'down', reason: 'timeout' } }, 0, 'link_down'],
  ['a link that the agent does not have', { relay: { is_exhausted: false } }, 1, 'link_down'],
  ['a wrong key', { relay: { ...up, state: 'down', reason: 'pin_mismatch' } }, 1, 'pin_mismatch'],
  ['a missing endpoint', { relay: { ...up, state: 'down', reason: 'no_endpoint' } }, 1, 'link_no_endpoint'],
  ['an exhausted link', { edge: { ...up, is_exhausted: true } }, 0, 'link_exhausted'],
  ['a relay without its part', { relay: { ...up, refusal: 'rule_unknown' } }, 0, 'rule_unknown'],
  ['an exit without its part', { exit: { is_exhausted: false, refusal: 'rule_unknown' } }, 1, 'rule_unknown'],
  [
    'a guardrail of the exit',
    { exit: { is_exhausted: false, refusal: 'denied_by_exit' } },
    1,
    'denied_by_exit'
  ]
]

t.test('a hop that refuses stops the caller, and nothing is sent to targets', async t => {
  const { app, hops, asked, explain, linkIds } = await open(t)
  await app.push({ via: ['relay', 'exit'], targets: [target] })
  const ids = await linkIds()
  const working = { ...hops }

  for (const [why, changed, hop, reason] of refusals) {
    Object.assign(hops, working, changed)
    const { outcome, decided_by, steps, targets } = await explain({ probe: true, test_byte: true })
    t.equal(outcome, 'refused', why)
    t.match(decided_by, { kind: 'link', id: ids[hop], reason }, why)
    t.match(steps.at(-1), { kind: 'link', id: ids[hop], verdict: 'stop', reason }, why)
    t.equal(steps.filter(({ kind }) => kind === 'link').length, hop + 1, why)
    t.match(targets, [{ error: reason, link_ms: null }], why)
  }
  t.same(new Set(asked.map(({ probe, test_byte }) => `${probe} ${test_byte}`)), new Set(['none false']))
})

t.test('of two hops that refuse, the first one is named', async t => {
  const { app, hops, explain, linkIds } = await open(t)
  await app.push({ via: ['relay', 'exit'], targets: [target] })
  const [first] = await linkIds()
  hops.edge = { ...up, state: 'down', reason: 'refused' }
  hops.exit = { is_exhausted: false, refusal: 'denied_by_exit' }

  const { decided_by, steps } = await explain()

  t.match(decided_by, { kind: 'link', id: first, reason: 'link_down' })
  t.match(steps.at(-1)?.text, 'the link from edge to relay is down: refused')
})

t.test('a revoked client of the path is named, also if its agent was connected', async t => {
  const { app, explain, linkIds } = await open(t)
  await app.push({ via: ['relay', 'exit'], targets: [target] })
  const [, second] = await linkIds()
  await app.call('POST', `/v1/clients/${app.ids.exit}/revoke`)

  const { decided_by, steps } = await explain()

  t.match(decided_by, { kind: 'link', id: second, reason: 'exit_revoked' })
  t.match(steps.at(-1)?.text, 'exit is revoked: remove it from the path')
})

t.test('a client of the path that no exit grant covers is named by its hop, not by the grant', async t => {
  const { app, explain, linkIds } = await open(t)
  const ann = await app.user('ann')
  const grant = (body: object) =>
    app.call('POST', '/v1/grants', { user_id: 'ann', protocols: ['tcp'], ...body })
  await grant({ client_id: app.ids.edge, listen_port_start: 8000, listen_port_end: 8100 })
  for (const id of [app.ids.relay, app.ids.exit]) await grant({ client_id: id, use: 'exit' })
  const made = await app.call(
    'POST',
    '/v1/rules',
    { client: 'edge', listen_port: 8080, targets: [target], via: ['relay', 'exit'] },
    ann
  )
  t.equal(made.status, 201)
  const [first, second] = await linkIds()
  t.match((await explain({}, ann)).outcome, 'forwarded')

  await app.server.depsOf('rules').store.change(em => em.nativeDelete(Grant, { clientId: app.ids.exit }))
  const { decided_by, steps } = await explain({}, ann)

  t.match(decided_by, { kind: 'link', id: second, reason: 'exit_not_granted' })
  t.match(
    steps.filter(({ kind }) => kind === 'link'),
    [{ ...pass, id: first }, { verdict: 'stop' }]
  )
})

t.test('a user reads names of the clients on the path, and no address of them', async t => {
  const { app, hops, explain } = await open(t)
  const ann = await app.user('ann')
  await app.call('PATCH', `/v1/clients/${app.ids.exit}`, {
    address: '192.0.2.77',
    link: { hosts: ['secret.example'] }
  })
  await app.push({ owner: 'ann', via: ['relay', 'exit'], targets: [target] })
  hops.relay = { ...up, state: 'down', reason: 'unreachable' }

  const answer = await explain({ probe: true }, ann)

  t.match(answer, { outcome: 'refused', decided_by: { reason: 'link_down' } })
  t.notMatch(JSON.stringify(answer), /192\.0\.2\.77|secret\.example|127\.0\.0\.1/)
})

t.test('the target whose path works is explained, and the ones before it are only mentioned', async t => {
  const { app, agents, hops, explain } = await open(t, ['edge', 'relay', 'exit', 'other'])
  const two = { host: '10.0.0.2', port: 81 }
  await app.push({
    targets: [
      { ...two, via: 'other', priority: 2 },
      { ...target, via: 'exit', priority: 1 }
    ]
  })
  t.ok(agents.other)
  hops.exit = { is_exhausted: false, refusal: 'denied_by_exit' }
  hops.other = { is_exhausted: false }

  const { outcome, steps } = await explain()

  t.equal(outcome, 'forwarded')
  t.match(
    steps.filter(({ kind }) => kind === 'link'),
    [
      { verdict: 'info', reason: 'denied_by_exit' },
      { ...pass, text: /^the link from edge to other is up/ }
    ]
  )
})

t.test('a probe that a hop refuses names the hop, and one without an answer in time is unknown', async t => {
  const { app, explain, linkIds, setReport } = await open(t)
  await app.push({ via: ['relay', 'exit'], targets: [target] })
  const [, second] = await linkIds()
  const failed = (error: string): void =>
    setReport({
      steps: [{ kind: 'target', id: '10.0.0.1:80', verdict: 'stop', reason: error, text: error }],
      targets: [{ ...target, error }]
    })

  failed('denied_by_exit')
  const denied = await explain({ probe: true })
  t.match(denied.decided_by, { kind: 'link', id: second, reason: 'denied_by_exit' })
  t.equal(denied.outcome, 'refused')

  failed('path_timeout')
  t.match(await explain({ probe: true }), { outcome: 'unknown', decided_by: { reason: 'path_timeout' } })
})

t.test('a client that does not answer leaves the hop to what the server knows', async t => {
  const { app, agents, explain } = await open(t)
  await app.push({ via: ['relay', 'exit'], targets: [target] })
  if (!agents.exit || !agents.relay) throw new Error('no agents')
  await app.close(agents.exit, app.ids.exit)

  const { outcome, steps } = await explain()

  t.equal(outcome, 'forwarded')
  t.match(steps.at(-1)?.text, /the link from relay to exit is up.*; exit has not answered the server$/)
})

t.test('a change that waits for a client of the path leaves the earlier path in the explanation', async t => {
  const { app, explain } = await open(t)
  const { body } = await app.push({ via: 'exit', targets: [target] })
  t.equal((await app.patch(body.rule_id, { via: 'other' })).status, 200)
  await until(
    () => app.get(body.rule_id),
    ({ state_reason }) => state_reason === 'path_pending'
  )

  const { outcome, steps, targets } = await explain()

  t.equal(outcome, 'forwarded')
  t.match(
    steps.filter(({ verdict }) => verdict === 'info'),
    [{ kind: 'rule', reason: 'path_pending' }]
  )
  t.match(steps.at(-1), { ...pass, text: /^the link from edge to exit/ })
  t.match(targets, [{ via: [app.ids.exit] }])
})

t.test('a rule without a path asks no other client, and its target has no path', async t => {
  const { app, agents, explain } = await open(t)
  await app.push({ targets: [target] })

  t.match((await explain()).targets, [{ via: null, link_ms: null }])
  t.notOk(agents.exit?.received.some(({ name }) => name === HopCheck.name))
})
