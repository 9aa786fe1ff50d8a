import t, { type Test } from 'tap'
import { type Call, testAgent, testServer } from '../../../kit/public.ts'

/** A server, and the function that returns what a caller is told now, after all marks have settled. */
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
  await seen() // the users are made by their first call
  return { server, ann, seen }
}

t.test('nothing has changed while nobody changes anything', async t => {
  const { seen } = await open(t)

  t.same(await seen(), await seen())
})

t.test('an edge that comes or goes is a change for everybody', async t => {
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

t.test('what one user changes is a change for superadmins and that user', async t => {
  const { ann, seen } = await open(t)
  const before = await seen()

  const { status } = await ann('POST', '/v1/auth/logout')
  const after = await seen()

  t.equal(status, 204)
  t.not(after.operator, before.operator)
  t.not(after.ann, before.ann)
  t.equal(after.ben, before.ben)
})

t.test('a state of a rule is a change for its owner', async t => {
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

t.test('a refused call is no change', async t => {
  const { ann, seen } = await open(t)
  const before = await seen()

  t.equal((await ann('POST', '/v1/users', { user_id: 'eve', display_name: 'Eve', role: 'user' })).status, 403)

  t.same(await seen(), before)
})
