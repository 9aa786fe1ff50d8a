// The state of links: reports of both agents, what the server knows, and who sees it.
import t, { type Test } from 'tap'
import { openCallers } from '../../../kit/callers.ts'
import { Rule } from '../../rules/entities.ts'
import type { TestResult } from '../schema.ts'
import { LinkSet, LinkTest } from '../wire.ts'
import { linksFixture, status } from './fixture.ts'

async function openLink(t: Test) {
  const fixture = await linksFixture(t)
  const { edge, rule, setEndpoint, list, round } = fixture
  const [entry, exit] = [await edge('entry'), await edge('exit')]
  await setEndpoint(entry.id, {})
  const ruleId = await rule(entry.id, [exit.id])
  const [link] = await list()
  if (!link) throw new TypeError('there is no link')
  await round()
  return { ...fixture, entry, exit, ruleId, id: link.link_id }
}

t.test('a link shows what its near client reports, and the journal of its rules records changes', async t => {
  const { app, call, list, report, entry, exit, ruleId, id } = await openLink(t)
  t.match(await list(), [{ state: 'connecting', state_reason: null, rtt_ms: null, loss_percent: null }])
  const figures = {
    role: 'listener' as const,
    rtt_last_ms: 38.5,
    rtt_p50_ms: 38,
    rtt_p99_ms: 44,
    loss_percent: 0,
    open: 3,
    idle: 2,
    bytes_in: 1000,
    bytes_out: 2000,
    opens: [{ key: 'opened', value: 7 }],
    handshakes: [{ key: 'full', value: 5 }]
  }

  await report(entry.agent, status(id, figures))

  t.match(await list('?state=up'), [
    {
      state: 'up',
      rtt_ms: { last: 38.5, p50: 38, p99: 44 },
      loss_percent: 0,
      connections: { open: 3, idle: 2 },
      bytes_in: 1000,
      bytes_out: 2000
    }
  ])
  const { text } = await call('GET', '/v1/metrics')
  const labels = `entry="${entry.id}",exit="${exit.id}"`
  for (const line of [
    `svc_link_up{${labels}} 1`,
    `svc_link_rtt_seconds{${labels}} 0.0385`,
    `svc_link_connections{${labels},state="open"} 3`,
    `svc_link_opens_total{${labels},result="opened"} 7`,
    `svc_link_bytes_total{${labels},direction="out"} 2000`,
    `svc_link_handshakes_total{${labels},kind="full"} 5`
  ])
    t.match(text, line)

  await report(entry.agent, status(id, { ...figures, loss_percent: 7.5 }))
  t.match(await list(), [{ state: 'degraded', state_reason: 'loss' }])
  await report(entry.agent, status(id, { state: 'down', reason: 'timeout' }))
  t.match(await list(), [{ state: 'down', state_reason: 'timeout' }])
  await report(entry.agent, status(id))

  const { body: journal } = await call<{ kind: string }[]>('GET', `/v1/rules/${ruleId}/journal?kind=link`)
  t.match(
    journal.map(entry => ({ ...entry })).sort((a, b) => (JSON.stringify(a) < JSON.stringify(b) ? -1 : 1))
      .length,
    4
  )
  t.ok(JSON.stringify(journal).includes('"cause":"timeout"'))
  t.match(
    app.log.filter(({ event }) => event.startsWith('link.')).map(({ event, fields }) => ({ event, fields })),
    [
      { event: 'link.up', fields: { client: entry.id, peer: exit.id } },
      { event: 'link.down', fields: { client: entry.id, peer: exit.id, reason: 'timeout', secs: 1 } }
    ] as object
  )
})

t.test(
  'while the near client is away, the far one decides; while neither is there, the link is down',
  async t => {
    const { deps, list, report, round, entry, exit, id } = await openLink(t)
    await report(exit.agent, status(id, { state: 'down', reason: 'pin_mismatch', role: 'dialer' }))
    t.match(await list(), [{ state: 'down', state_reason: 'pin_mismatch' }])
    await report(entry.agent, status(id, { state: 'down', reason: 'unreachable', role: 'listener' }))
    t.match(await list(), [{ state: 'down', state_reason: 'pin_mismatch' }])
    await report(entry.agent, status(id))
    t.match(await list(), [{ state: 'up' }])
    await report(exit.agent, status(id, { state: 'up', role: 'dialer' }))

    const gone = async (agent: typeof entry.agent, clientId: string) => {
      await agent.close()
      while (deps().control.peers.find(clientId)) await new Promise(resolve => setImmediate(resolve))
      await round()
    }
    await gone(entry.agent, entry.id)
    t.match(await list(), [{ state: 'up' }])
    await gone(exit.agent, exit.id)
    t.match(await list(), [{ state: 'down', state_reason: 'peer_away' }])
  }
)

t.test('the server knows links without an endpoint and without an active rule', async t => {
  const { deps, setEndpoint, list, report, round, entry, ruleId, id } = await openLink(t)
  await report(entry.agent, status(id))
  await setEndpoint(entry.id, null)
  await round()
  t.match(await list(), [{ state: 'down', state_reason: 'no_endpoint' }])
  await setEndpoint(entry.id, {})
  await round()
  t.match(await list(), [{ state: 'up' }])

  const { store, linkStates } = deps()
  await store.change(async em => {
    await em.nativeUpdate(Rule, { id: ruleId }, { state: 'paused' })
    const owner = { clientId: entry.id, owner: '_operator' }
    await linkStates.ruleChanged({ id: ruleId, ...owner, from: 'active', state: 'paused', reason: null }, em)
  })
  await round()
  t.match(await list('?state=unused'), [{ state: 'unused', state_reason: null }])
})

t.test('reports of links of other clients, and unknown reasons, change nothing', async t => {
  const { edge, list, report, entry, id } = await openLink(t)
  const stranger = await edge('stranger')
  await report(stranger.agent, status(id), status('01KCD3F0P7Q4Y6Z8V1T5S9R2NB'))
  t.match(await list(), [{ state: 'connecting', connections: { open: 0 } }])
  await report(entry.agent, status(id, { state: 'down', reason: 'because' }))
  t.match(await list(), [{ state: 'down', state_reason: 'unreachable' }])
})

t.test('users see the links of their own rules, without hosts', async t => {
  const { app, call, list, setPath, entry, exit, id } = await openLink(t)
  await call('PATCH', `/v1/links/${id}`, { hosts: ['10.0.0.9'], note: 'uplink' })
  const as = openCallers(app.call)
  const viewer = as({ user: 'vic', role: 'viewer', by: 'api_token' })
  const ann = as({ user: 'ann', by: 'api_token' })
  t.match((await viewer('GET', '/v1/links')).body, [{ hosts: ['10.0.0.9'], note: 'uplink' }])
  t.same((await ann('GET', '/v1/links')).body, [])
  t.match(await ann('GET', `/v1/links/${id}`), {
    status: 404,
    body: { error: { code: 'link_not_found' } }
  } as object)
  for (const caller of [viewer, ann]) t.match(await caller('PATCH', `/v1/links/${id}`, {}), { status: 403 })

  await call('POST', '/v1/grants', {
    user_id: 'ann',
    client_id: entry.id,
    listen_port_start: 9000,
    listen_port_end: 9999,
    protocols: ['tcp']
  })
  const body = { client: entry.id, listen_port: 9000, targets: [{ host: '10.0.0.1', port: 80 }] }
  const { body: rule } = await ann<{ rule_id: string }>('POST', '/v1/rules', body)
  await setPath(rule.rule_id, [exit.id])

  t.match((await ann('GET', '/v1/links')).body, [{ link_id: id, hosts: null, rules: 1 }])
  t.match((await ann('GET', `/v1/links/${id}`)).body, { hosts: null })
  t.match(await list(), [{ rules: 2 }])
  t.match(await list(`?client=${exit.name}`), [{}])
  t.same(await list('?client=nobody'), [])
})

t.test('a link is tested by its near client, once at a time', async t => {
  const { app, call, edge, rule, setEndpoint, list } = await linksFixture(t)
  const held = Promise.withResolvers<'accept'>()
  const entry = await edge('entry', {
    react: ({ name }) => (name === LinkTest.name ? held.promise : 'accept')
  })
  const exit = await edge('exit')
  await setEndpoint(entry.id, {})
  await rule(entry.id, [exit.id])
  await entry.agent.until(LinkSet.name)
  const [link] = await list()
  const path = `/v1/links/${link?.link_id}/test`

  const running = call<TestResult>('POST', path, { bytes: 1000, secs: 1 })
  t.match((await entry.agent.until(LinkTest.name)).body, { id: link?.link_id, bytes: 1000, secs: 1 })
  t.match(await call('POST', path, {}), { status: 429, body: { error: { code: 'rate_limited' } } } as object)
  held.resolve('accept')
  t.match(await running, {
    status: 200,
    body: { rtt_ms: 38, handshake_ms: 41, up_bps: 9e7, down_bps: 8e7, udp: 'off', error: null }
  } as object)
  t.ok(app.decisions.some(({ action }) => action === 'link.test'))
  t.equal((await call('POST', path, { bytes: 64 * 1024 * 1024 + 1 })).status, 400)

  await entry.agent.close()
  t.match(await call('POST', path, {}), {
    status: 422,
    body: { error: { code: 'client_not_connected' } }
  } as object)
})
