// Both halves: a server and an agent with a fake engine.
import { setImmediate } from 'node:timers/promises'
import t, { type Test } from 'tap'
import type { AgentPlugin, SourceLimit } from '../../../agent/plugin.ts'
import { runAgent, testAgent, testServer } from '../../../kit/public.ts'
import { insertClient } from '../../../kit/test-server.ts'
import { recordStatements } from '../../../test/support/record-statements.ts'
import { notOnPostgres } from '../../../test/support/store.ts'
import type { SwitchRecord } from '../schema.ts'

const url = '/v1/under-attack'

async function openApp(t: Test, plugins: readonly AgentPlugin[] = []) {
  const server = await testServer(t)
  const agent = await runAgent(t, server, 'edge', { plugins })
  const switchPath = `/v1/clients/${agent.clientId}/under-attack`
  let port = 8080
  const push = async (more: object = {}): Promise<string> => {
    const body = { client: 'edge', listen_port: port++, targets: [{ host: '10.0.0.1', port: 80 }], ...more }
    return (await server.call<{ rule_id: string }>('POST', '/v1/rules', body)).body.rule_id
  }
  const list = async () => (await server.call<SwitchRecord[]>('GET', url)).body
  /** Returns the limits of each rule in the engine, from its last change or its opening. */
  const planned = () =>
    [...agent.engine.rules.values()].map(rule => {
      const { filters = rule } = agent.engine.filtersSet.findLast(({ ruleId }) => ruleId === rule.id) ?? {}
      return { limits: filters.sourceLimits, cap: rule.replyCap }
    })
  return { server, agent, switchPath, push, list, planned }
}

const limit = (of: SourceLimit['of'], max: number) => ({ of, max })

t.test('the switch divides per-source limits by 4, gives limits to rules without, and ends', async t => {
  const { server, agent, switchPath, push, list, planned } = await openApp(t)
  await push({
    source_limit: { connections: 9, new_connections: 3 },
    ban: { new_connections: 100, failed_handshakes: 8 }
  })
  await push({ ban: { failed_handshakes: 8 } })
  await push({ protocol: 'udp', amplification: { ratio: 2, proven_after: 0 } })
  await push({ protocol: 'udp' })
  const before = planned()
  const opened = agent.engine.opened.length

  const { status, body } = await server.call<SwitchRecord>('PUT', switchPath, {
    for_secs: 60,
    reason: 'flood'
  })

  t.match({ status, body }, {
    status: 200,
    body: { client_name: 'edge', reason: 'flood', made_by: '_operator', connections: 20, within_secs: 10 }
  } as object)
  const own = [limit('new', 20), limit('open', 20)].map(one => ({ ...one, refusal: 'under_attack' }))
  t.match(planned(), [
    { limits: [limit('new', 25), limit('failed', 2), limit('new', 1), limit('open', 2)], cap: null },
    { limits: [limit('failed', 2), ...own], cap: null },
    { limits: own, cap: { ratio: 2, provenAfter: 0, refusal: 'amplification' } },
    { limits: own, cap: { ratio: 3, provenAfter: 8, refusal: 'under_attack' } }
  ])
  t.equal(agent.engine.opened.length, opened + 1, 'rules change in place, except for the cap')
  t.match(await list(), [{ client_id: agent.clientId }])
  const rule = await push()
  t.match(planned().at(-1), { limits: own })

  await server.clock.advance(60_000)

  t.same(planned(), [...before, { limits: [], cap: null }])
  t.same(await list(), [])
  await server.clock.advance(60_000) // a round of the server
  const { body: journal } = await server.call<{ kind: string }[]>('GET', `/v1/rules/${rule}/journal`)
  t.match(
    journal.filter(({ kind }) => kind === 'under_attack'),
    [{ to: null, cause: 'ended' }]
  )
})

t.test('the switch survives an agent restart without the server, and ends on time', async t => {
  const { server, agent, switchPath, push, planned } = await openApp(t)
  await push()
  await server.call('PUT', switchPath, { for_secs: 60, connections: 7, new_connections: 8, within_secs: 9 })
  await server.stop()
  await agent.restart()
  t.match(planned(), [{ limits: [{ of: 'new', max: 8, perMs: 9_000 }, limit('open', 7)] }])

  await server.clock.advance(61_000)
  t.match(planned(), [{ limits: [] }])
  t.ok(agent.log.some(({ event }) => event === 'under_attack.off'))
})

t.test('the switch is on for all, off for one, and off for all', async t => {
  const { server, agent, switchPath, push, list, planned } = await openApp(t)
  await push()
  t.match(await server.call('PUT', url, { for_secs: 600 }), {
    status: 200,
    body: { under_attack: [{ client_id: agent.clientId }, { client_id: null }] }
  } as object)
  t.equal(planned()[0]?.limits.length, 2)
  t.match(await server.call('DELETE', switchPath), { status: 204 })
  t.match(await server.call('DELETE', switchPath), { status: 204 }, 'off again does nothing')
  t.same(planned()[0]?.limits, [])
  t.match(await list(), [{ client_id: null }])

  t.match(await server.call('DELETE', url), { status: 204 })
  t.same(await list(), [])
})

t.test(
  'a switch for all clients takes few statements and yields to the event loop',
  { skip: notOnPostgres('it counts statements of SQLite') },
  async t => {
    const { server } = await openApp(t)
    for (let at = 0; at < 300; at++) await insertClient(server, `many-${at}`)
    const { sql } = recordStatements(t)

    for (const [method, status] of [
      ['PUT', 200],
      ['DELETE', 204]
    ] as const) {
      sql.splice(0)
      let isAnswered = false
      const switching = server.call(method, url, method === 'PUT' ? { for_secs: 600 } : undefined)
      void switching.finally(() => {
        isAnswered = true
      })
      while (!isAnswered) {
        await setImmediate()
        sql.push('turn')
      }

      t.match(await switching, { status })
      const commit = sql.indexOf('commit')
      const made = sql.slice(sql.lastIndexOf('rollback to part2', commit) + 1, commit) // the kit runs each change twice
      const countOf = (text: RegExp): number => made.filter(one => text.test(one)).length
      t.equal(countOf(/^insert into journal_entry/), 8, `${method}: entries`)
      t.equal(countOf(/^update kernel_client/), 6, `${method}: revisions`)
      const turns = countOf(/^turn$/)
      t.ok(turns >= 12, `${method}: ${turns} turns`)
      t.ok(made.length - turns <= 50, `${method}: ${made.length - turns} statements`)
    }
  }
)

t.test('an agent that is too old is refused, and nothing is turned on', async t => {
  const { server, list } = await openApp(t)
  await testAgent(t, server, 'old', { capabilities: { 'under-attack': '1.0.0' } })
  t.match(await server.call('PUT', url, {}), {
    status: 422,
    body: { error: { code: 'under_attack_unsupported_by_client' } }
  } as object)
  t.same(await list(), [])
})

t.test('an invalid switch is refused', async t => {
  const { server, switchPath } = await openApp(t)
  for (const body of [{ for_secs: 0 }, { for_secs: 31 * 86_400 }, { connections: 0 }, { divisor: 2 }])
    t.match(await server.call('PUT', switchPath, body), { status: 400 }, JSON.stringify(body))
  t.match(await server.call('PUT', '/v1/clients/nobody/under-attack', {}), {
    status: 404,
    body: { error: { code: 'client_not_found' } }
  } as object)
})

t.test('the switch also tightens limits of plugins that are loaded later', async t => {
  const later: AgentPlugin = {
    name: 'acme-limit',
    agent: '^1.5.0',
    plan(draft, { id }) {
      const own = { name: `acme ${id}`, of: 'open', max: 40, perMs: 1, refusal: 'acme' } as const
      draft.sourceLimits = [...draft.sourceLimits, own]
    }
  }
  const { server, switchPath, push, planned } = await openApp(t, [later])
  await push()
  await server.call('PUT', switchPath, {})
  t.match(planned(), [{ limits: [{ of: 'open', max: 10, refusal: 'acme' }] }])
  t.equal(planned()[0]?.limits.length, 1)
})
