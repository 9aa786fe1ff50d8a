// A large group: one conflict among all members, a client that joins, and an offline client. FLEET=200x100 means 200 clients
// and 100 rules.
import t, { type Test } from 'tap'
import type { ScriptedAgent } from '../../../kit/scripted-agent.ts'
import { until } from '../../rules/test/fixture.ts'
import { RulePush } from '../../rules/wire.ts'
import { type GroupRule, type GroupsFixture, groupsFixture, type Refused } from './fixture.ts'

const [edges = 0, rules = 0] = (process.env['FLEET'] ?? '40x25').split('x').map(Number)
const taken = Math.floor(edges / 3)
const prod = { env: 'prod' }
const nameOf = (at: number): string => `edge-${String(at).padStart(3, '0')}`
const portOf = (rule: number): number => 10_000 + rule

/** Resolves when the agent has received this number of different rules; returns them by port. */
async function rulesOf(agent: ScriptedAgent, wanted: number): Promise<Map<number, unknown>> {
  const found = () =>
    new Map(
      agent.received
        .filter(({ name }) => name === RulePush.name)
        .map(({ body }) => [Number(body['listen_from']), body])
    )
  for (let pushes = wanted; found().size < wanted; pushes++) await agent.until(RulePush.name, pushes)
  return found()
}

const elapsed = async (work: () => Promise<unknown>): Promise<number> => {
  const start = performance.now()
  await work()
  return Math.round(performance.now() - start)
}

/** Creates the rules while the clients are offline: each agent then receives all of its rules at once. */
async function fleet(t: Test): Promise<Fleet> {
  const app = await groupsFixture(t)
  const ids: string[] = []
  for (let at = 0; at < edges; at++) ids.push(await app.edge(nameOf(at), prod))
  const ruleIds: string[] = []
  const took: number[] = []
  for (let at = 0; at < rules; at++)
    took.push(
      await elapsed(async () => {
        const more = { listen_port: portOf(at), if_offline: 'queue' }
        const { body, text } = await app.group({ selector: 'env=prod' }, more)
        if (body.edges?.length !== edges) throw new Error(text.slice(0, 500))
        ruleIds.push(body.rule_id)
      })
    )
  took.sort((a, b) => a - b)
  t.comment(
    `a rule on ${edges} clients is stored: median ${took[Math.floor(rules / 2)]} ms, longest ${took.at(-1)} ms`
  )
  const agents: ScriptedAgent[] = []
  for (const id of ids) agents.push(await app.agent(id, { clock: app.clock }))
  for (const agent of agents) await rulesOf(agent, rules)
  return { app, ids, agents, ruleIds }
}

interface Fleet {
  readonly app: GroupsFixture
  readonly ids: readonly string[]
  readonly agents: readonly ScriptedAgent[]
  readonly ruleIds: readonly string[]
}

t.test(`${edges} clients, ${rules} rules`, async t => {
  const { app, ids, agents, ruleIds } = await fleet(t)
  await t.test('all clients have all rules', async t => {
    const isDone = (rule: GroupRule): boolean => rule.state === 'active' && rule.edges.length === edges
    for (const id of ruleIds) t.ok(await until(() => app.read(id), isDone))
    const created = await elapsed(async () => {
      const { status, body } = await app.group({ selector: 'env=prod' }, { listen_port: 9000 })
      t.match({ status, body }, { status: 201, body: { state: 'active' } })
      await app.call('DELETE', `/v1/rules/${body.rule_id}`)
    })
    t.comment(`a rule is created on ${edges} connected clients, active on all, and deleted: ${created} ms`)
  })

  await t.test(`one conflict among ${edges * rules} is named before anything is stored`, async t => {
    const { body: other } = await app.push({ client: ids[taken], listen_port: 9999 })
    const pushed = agents.map(({ received }) => received.length)
    let refused: { status: number; body: Refused } | undefined

    const created = await elapsed(async () => {
      refused = await app.call<Refused>('POST', '/v1/rules', {
        ...{ clients: { selector: 'env=prod' }, listen_port: 9999 },
        targets: [{ host: '10.0.0.1', port: 80 }]
      })
    })

    t.comment(`a create with one conflict is refused after ${created} ms`)
    const conflict = [
      { client_id: ids[taken], client_name: nameOf(taken), code: 'port_in_use', rule_id: other.rule_id }
    ]
    t.match(refused, { status: 409, body: { error: { code: 'port_in_use', details: { edges: conflict } } } })
    t.equal(refused?.body.error.details.edges.length, 1)

    const moved = await elapsed(async () => {
      refused = await app.call<Refused>('PATCH', `/v1/rules/${ruleIds[3]}`, { listen_port: 9999 })
    })
    t.comment(`a patch with one conflict is refused after ${moved} ms`)
    t.match(refused, { status: 409, body: { error: { code: 'port_in_use', details: { edges: conflict } } } })
    t.strictSame(
      agents.map(({ received }) => received.length),
      pushed
    )
  })

  await t.test('a client that joins gets all rules', async t => {
    const id = await app.edge('late')
    const agent = await app.agent(id, { clock: app.clock })
    const start = performance.now()
    await app.label(id, prod)
    const labelled = performance.now() - start
    await rulesOf(agent, rules)
    t.comment(
      `labelled after ${Math.round(labelled)} ms, all ${rules} rules after ${Math.round(performance.now() - start)} ms`
    )
    await until(
      async () =>
        (await app.read(String(ruleIds.at(-1)))).edges.find(({ client_name }) => client_name === 'late'),
      edge => edge?.state === 'active'
    )
  })

  await t.test('a client that was offline applies the changes at its reconnect', async t => {
    await agents[5]?.close()
    await until(
      async () => app.server.control.peers.find(String(ids[5])),
      peer => peer === undefined
    )
    const changed = await elapsed(async () => {
      for (const id of ruleIds.slice(0, 10))
        t.match(await app.call('PATCH', `/v1/rules/${id}`, { targets: [{ host: '10.0.0.9', port: 99 }] }), {
          status: 200
        })
    })
    t.comment(`10 patches of ${edges + 1} clients: ${changed} ms`)

    const back = await app.agent(String(ids[5]), { clock: app.clock })
    const pushed = await rulesOf(back, rules)

    for (let at = 0; at < 10; at++)
      t.match(pushed.get(portOf(at)), { targets: [{ host: '10.0.0.9', port: 99 }] })
    t.match(pushed.get(portOf(10)), { targets: [{ host: '10.0.0.1', port: 80 }] })
  })

  await t.test('lists, statistics, metrics and a delete', async t => {
    const listed = await elapsed(async () => {
      const { body } = await app.call<GroupRule[]>('GET', '/v1/rules?limit=1000')
      t.equal(body.filter(({ state }) => state !== 'draining').length, rules + 1)
    })
    const removed = await elapsed(async () => {
      t.match(await app.call('DELETE', `/v1/rules/${ruleIds[0]}`), { status: 204 })
    })
    t.comment(`a list of ${rules} rules: ${listed} ms, a delete on ${edges + 1} clients: ${removed} ms`)
  })
})
