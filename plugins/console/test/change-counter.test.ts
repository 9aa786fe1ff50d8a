import t, { type Test } from 'tap'
import { type Call, testAgent, testServer } from '../../../kit/public.ts'

/** Starts a server. `seen` returns the change number of each caller, after all marks have settled. */
async function open(t: Test) {
  const server = await testServer(t)
  const ann = server.as({ user: 'ann' })
  const ben = server.as({ user: 'ben' })
  const seen = async () => {
    await server.clock.advance(1_000)
    const last = async (call: Call): Promise<number> =>
      (await call<{ last: number }>('GET', '/v1/changes')).body.last
    return { operator: await last(server.call), ann: await last(ann), ben: await last(ben) }
  }
  await seen() // the first call creates the users
  return { server, ann, seen }
}

t.test('the change number stays the same without a change', async t => {
  const { seen } = await open(t)

  t.same(await seen(), await seen())
})

t.test('a client that connects or disconnects is a change for everybody', async t => {
  const { server, seen } = await open(t)
  const before = await seen()

  const agent = await testAgent(t, server, 'paris')
  const between = await seen()
  await agent.close()
  const after = await seen()

  for (const who of ['operator', 'ann', 'ben'] as const) {
    t.not(between[who], before[who])
    t.not(after[who], between[who])
  }
})

t.test('a change by a user is a change for that user and superadmins only', async t => {
  const { ann, seen } = await open(t)
  const before = await seen()

  const { status } = await ann('POST', '/v1/auth/logout')
  const after = await seen()

  t.equal(status, 204)
  t.not(after.operator, before.operator)
  t.not(after.ann, before.ann)
  t.equal(after.ben, before.ben)
})

t.test('a rule state is a change for its owner and superadmins only', async t => {
  const { server, seen } = await open(t)
  const agent = await testAgent(t, server, 'paris')
  const before = await seen()

  const rule = {
    client: agent.clientId,
    owner: 'ann',
    listen_port: 8443,
    targets: [{ host: 'web', port: 443 }]
  }
  await server.call('POST', '/v1/rules', rule)
  const after = await seen()

  t.not(after.operator, before.operator)
  t.not(after.ann, before.ann)
  t.equal(after.ben, before.ben)
})

t.test('a denied call is not a change', async t => {
  const { ann, seen } = await open(t)
  const before = await seen()

  t.equal((await ann('POST', '/v1/users', { user_id: 'eve', display_name: 'Eve', role: 'user' })).status, 403)

  t.same(await seen(), before)
})
