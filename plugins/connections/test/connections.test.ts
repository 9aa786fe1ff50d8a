// Live connections through the API: a server and an agent in this process, on a fake engine.
import t from 'tap'
import { type ConnectionRow, isPrefix, parseTarget } from '../schema.ts'
import { openApp } from './fixture.ts'

t.test('a row has what the edge knows, under the ids of the server', async t => {
  const { server, agent, push, open } = await openApp(t)
  const rule_id = await push('ann', 8080)
  const dialing = open(2, { target: null, divert: 'tarpit', caller: null, targetLeg: null })
  agent.engine.openConnections = [dialing, open(1)]

  const { status, body } = await server.call<ConnectionRow[]>('GET', '/v1/connections?sort=bytes')

  t.equal(status, 200)
  t.match(body, [
    { target: null, divert: 'tarpit', rtt_ms: null, retransmits: null },
    {
      ...{ client_id: agent.clientId, rule_id, owner: 'ann', protocol: 'tcp', held_by: null },
      ...{ source: '198.51.100.7:50001', listen: '[2001:db8::1]:443', target: '10.0.0.1:80', divert: null },
      ...{ opened_at: new Date(server.clock.now() - 5000).toISOString(), idle_secs: 0.4 },
      ...{ bytes_in: 10, bytes_out: 20 },
      rtt_ms: { caller: 12.5, target: 0.5 },
      retransmits: { caller: 3, target: 0 }
    }
  ])
})

t.test('a connection is closed by its id, once', async t => {
  const { server, agent, push, open } = await openApp(t)
  await push('ann', 8080)
  agent.engine.openConnections = [open(77)]
  const [row] = (await server.call<ConnectionRow[]>('GET', '/v1/connections')).body
  const url = `/v1/connections/${row?.connection_id}`

  t.match(await server.call('DELETE', url), { status: 204 })
  t.match(agent.engine.connectionsEnded, [{ ids: [77] }])
  t.match(server.decisions.at(-1), { action: 'connection.close', outcome: 'allow', status: 204 })
  t.match(server.decisions.at(-1)?.changes, [
    { field: 'client_id', from: agent.clientId, to: null },
    { field: 'rule_id' },
    { field: 'owner', from: 'ann' },
    { field: 'protocol', from: 'tcp' },
    { field: 'source', from: '198.51.100.7:50077' }
  ])

  agent.engine.openConnections = []
  const gone = { status: 404, body: { error: { code: 'connection_not_found' } } }
  t.match(await server.call('DELETE', url), gone)
  t.match(await server.call('DELETE', '/v1/connections/nonsense'), gone)
  agent.engine.openConnections = [open(77)]
  const other = url.replace(/-[0-9A-Z]{26}-/, `-${'0'.repeat(26)}-`)
  t.match(await server.call('DELETE', other), gone, 'a connection of an earlier process')
})

t.test('the filter for a protocol takes it in any case, and refuses others by their code', async t => {
  const { server, agent, push, open } = await openApp(t)
  await push('ann', 8080)
  agent.engine.openConnections = [open(1)]

  t.match(await server.call('GET', '/v1/connections?protocol=TCP'), {
    status: 200,
    body: [{ protocol: 'tcp' }]
  })
  t.match(await server.call('GET', '/v1/connections?protocol=Udp'), { status: 200 })
  for (const method of ['GET', 'DELETE'] as const)
    t.match(await server.call(method, '/v1/connections?protocol=sctp'), {
      status: 400,
      body: { error: { code: 'validation.protocol' } }
    })
})

t.test('a filter is required, counted first, and sent to the edge', async t => {
  const { server, agent, push, open } = await openApp(t)
  await push('ann', 8080)
  agent.engine.openConnections = [open(1), open(2)]

  t.match(await server.call('DELETE', '/v1/connections'), {
    status: 400,
    body: { error: { code: 'validation.connection_filter' } }
  })
  t.match(await server.call('DELETE', '/v1/connections?source=198.51.100.0/24&dry_run=true'), {
    status: 200,
    body: { matched: 2, closed: 0 }
  })
  t.strictSame(agent.engine.connectionsEnded, [])
  const query = 'source=198.51.100.0/24&target=10.0.0.1:80&owner=ann'
  t.match(await server.call('DELETE', `/v1/connections?${query}`), { body: { matched: 2, closed: 2 } })
  t.match(server.decisions.at(-1), {
    ...{ action: 'connection.close-all', resourceKind: 'connection', resourceId: '*' },
    changes: [
      { field: 'source', from: '198.51.100.0/24' },
      { field: 'target', from: '10.0.0.1:80' },
      { field: 'owner', from: 'ann' },
      { field: 'connections', from: 2, to: null }
    ]
  })
  t.match(agent.engine.connectionsEnded, [
    {
      rules: [agent.engine.opened[0]?.id],
      ids: null,
      sources: ['198.51.100.0/24'],
      target: { address: '10.0.0.1', port: 80 }
    }
  ])
  t.match(await server.call('DELETE', '/v1/connections?source=everywhere'), { status: 400 })
  t.match(await server.call('DELETE', '/v1/connections?client=elsewhere'), { body: { matched: 0 } })
})

t.test('users see and close their own', async t => {
  const { server, agent, push, open } = await openApp(t)
  await push('ann', 8080)
  agent.engine.openConnections = [open(1)]
  const ann = server.as({ user: 'ann', by: 'api_token' })
  const bob = server.as({ user: 'bob', by: 'api_token' })
  await server.as({ user: 'root', role: 'superadmin' })('GET', '/v1/users/me') // onboarding is over
  const get = async (call: typeof ann, query = '') =>
    (await call<ConnectionRow[]>('GET', `/v1/connections${query}`)).body

  t.equal((await get(ann)).length, 1)
  t.strictSame(await get(bob), [])
  t.strictSame(await get(ann, '?owner=bob'), [])
  const before = agent.engine.connectionsEnded.length
  t.match(await bob('DELETE', '/v1/connections?owner=ann'), { body: { matched: 0 } })
  t.equal(agent.engine.connectionsEnded.length, before)
  t.match(await ann('DELETE', '/v1/connections?source=0.0.0.0/0'), {
    body: { closed: 1 }
  })
  t.match(agent.engine.connectionsEnded.at(-1), { rules: [agent.engine.opened[0]?.id] })
})

t.test('places and prefixes', async t => {
  t.strictSame(parseTarget('10.0.0.7:80'), { address: '10.0.0.7', port: 80 })
  t.strictSame(parseTarget('10.0.0.7'), { address: '10.0.0.7' })
  t.strictSame(parseTarget('[2001:db8::1]:80'), { address: '2001:db8::1', port: 80 })
  t.strictSame(parseTarget('2001:db8::1'), { address: '2001:db8::1' })
  for (const wrong of ['', 'db', 'db:80', '10.0.0.7:0', '10.0.0.7:99999', '[10.0.0.7]:80'])
    t.equal(parseTarget(wrong), null, wrong)
  for (const right of ['10.0.0.0/8', '10.0.0.1', '::/0', '2001:db8::/32']) t.ok(isPrefix(right), right)
  for (const wrong of ['10.0.0.0/33', '10.0.0.0/', 'host', '10.0.0.0/8/8', '::1%lo'])
    t.notOk(isPrefix(wrong), wrong)
})
