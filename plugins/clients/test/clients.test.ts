import t from 'tap'
import { Client, Credential, User } from '../../../kernel/identity/entities.ts'
import { hashOf } from '../../../kernel/identity/secret.ts'
import { newId } from '../../../kernel/platform/id.ts'
import { definePlugin } from '../../../kernel/plugin.ts'
import { testServer } from '../../../kit/test-server.ts'
import type { ClientRow } from '../client-row.ts'
import { visibleSlot } from '../exports.ts'
import { insertClients, notFound } from './fixture.ts'

t.test(
  'a client that was connected before the server started is listed with every field of its row',
  async t => {
    const app = await testServer(t, { plugins: ['clients'] })
    const [id = ''] = await insertClients(app, 'edge')
    const { store } = app.server.depsOf('clients')
    const seen = {
      agentVersion: '1.7.0',
      capabilities: { x: '1.0.0' },
      connectedAt: 5,
      lastSeenAt: app.clock.now()
    }
    await store.change(em => em.nativeUpdate(Client, { id }, seen))

    const list = await app.call<ClientRow[]>('GET', '/v1/clients')

    t.strictSame(list.body, [
      {
        client_id: id,
        client_name: 'edge',
        address: null,
        state: 'disconnected',
        connected: false,
        remote_addr: null,
        connected_at: null,
        last_seen_at: '2026-01-15T12:00:00.000Z',
        agent_version: '1.7.0',
        capabilities: { x: '1.0.0' },
        enrolled_at: '2026-01-15T12:00:00.000Z',
        revoked_at: null,
        enrollment_key_id: null,
        ephemeral_secs: null,
        instance_conflict: null
      }
    ])
    t.strictSame((await app.call('GET', `/v1/clients/${id}`)).body, list.body[0])
  }
)

t.test('a list comes in pages, each client once', async t => {
  const app = await testServer(t, { plugins: ['clients'] })
  const ids = await insertClients(app, 'a', 'b', 'c', 'd', 'e')

  const seen: string[] = []
  let link = '</v1/clients?limit=2>; rel="next"'
  while (link !== '') {
    const { body, headers } = await app.call<ClientRow[]>('GET', /<([^>]+)>/.exec(link)?.[1] ?? '')
    seen.push(...body.map(row => row.client_id))
    link = String(headers['link'] ?? '')
  }

  t.strictSame(seen, ids)
})

t.test('a rename changes one row, and two clients may share a name', async t => {
  const app = await testServer(t, { plugins: ['clients'] })
  const [a = '', b = '', c = ''] = await insertClients(app, 'a', 'b', 'c')

  const renamed = await app.call('PATCH', `/v1/clients/${a}/name`, { client_name: '  b ' })

  t.match(renamed, { status: 200, body: { client_id: a, client_name: 'b' } })
  const { body } = await app.call<ClientRow[]>('GET', '/v1/clients')
  t.strictSame(
    body.map(row => [row.client_id, row.client_name]),
    [
      [a, 'b'],
      [b, 'b'],
      [c, 'c']
    ]
  )
  t.match(app.decisions, [{ action: 'client.rename', resourceKind: 'client', resourceId: a, status: 200 }])
})

t.test('an address is set and cleared; a whole row is accepted, an unknown field is not', async t => {
  const app = await testServer(t, { plugins: ['clients'] })
  const [id = ''] = await insertClients(app, 'edge')
  const url = `/v1/clients/${id}`

  t.match(await app.call('PUT', url, { address: 'edge.example.com' }), {
    status: 200,
    body: { address: 'edge.example.com' }
  })
  const { body: row } = await app.call<ClientRow>('GET', url)
  const back = { ...row, client_name: 'ignored', address: '192.0.2.7' }
  t.match(await app.call('PUT', url, back), {
    status: 200,
    body: { address: '192.0.2.7', client_name: 'edge' }
  })
  t.match(await app.call('PUT', url, { address: null }), { status: 200, body: { address: null } })

  t.match(await app.call('PUT', url, { address: 'edge.example.com:443' }), {
    status: 400,
    body: { error: { code: 'invalid_client_address' } }
  })
  t.match(await app.call('PUT', url, { adress: 'x' }), {
    status: 400,
    body: { error: { code: 'validation.unknown_field' } }
  })
  t.match(await app.call('PATCH', `${url}/name`, { client_name: '\u202e' }), {
    status: 400,
    body: { error: { code: 'invalid_client_name' } }
  })
})

t.test('unknown and malformed ids get the same response on every route', async t => {
  const app = await testServer(t, { plugins: ['clients'] })
  await insertClients(app, 'edge')
  const bodies = new Set<string>()

  for (const id of [newId(), 'edge', 'x'.repeat(200), '%20', '..%2f'])
    for (const [method, tail, body] of [
      ['GET', ''],
      ['PUT', '', { address: null }],
      ['PATCH', '/name', { client_name: 'x' }],
      ['POST', '/revoke'],
      ['DELETE', '']
    ] as const) {
      const reply = await app.call(method, `/v1/clients/${id}${tail}`, body)
      t.match(reply, notFound, `${method} ${id}`)
      bodies.add(JSON.stringify(reply.body))
    }

  t.equal(bodies.size, 1)
})

t.test('a user sees the clients that the slot returns, and cannot change them', async t => {
  const visible: string[] = []
  const grants = definePlugin({
    name: 'some-grants',
    version: '1.0.0',
    kernel: '^2.0.0',
    needs: { clients: '^1.0.0' },
    fills: [visibleSlot.fill(async userId => (userId === 'bob' ? visible : []))]
  })
  const app = await testServer(t, { plugins: ['clients', grants] })
  const [mine = '', other = ''] = await insertClients(app, 'mine', 'other')
  visible.push(mine)
  const now = app.clock.now()
  await app.server.depsOf('clients').store.change(async em => {
    await em.insertMany(User, [
      { id: 'root', displayName: 'Root', role: 'superadmin', disabled: false, createdAt: now },
      { id: 'bob', displayName: 'Bob', role: 'user', disabled: false, createdAt: now }
    ])
    const hash = { tokenHash: hashOf('token-of-bob'), label: '', createdAt: now }
    await em.insert(Credential, { id: newId(), userId: 'bob', ...hash })
  })
  const bob = { authorization: 'Bearer token-of-bob' }

  t.match(await app.call('GET', '/v1/clients', undefined, bob), { status: 200, body: [{ client_id: mine }] })
  t.match(await app.call('GET', `/v1/clients/${mine}`, undefined, bob), { status: 200 })
  t.match(await app.call('GET', `/v1/clients/${other}`, undefined, bob), notFound)
  t.match(await app.call('PATCH', `/v1/clients/${mine}/name`, { client_name: 'x' }, bob), {
    status: 403,
    body: { error: { code: 'role_required' } }
  })
})
