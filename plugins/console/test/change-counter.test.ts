import t, { type Test } from 'tap'
import type { Kernel } from '../../../kernel/plugin.ts'
import { type Call, fakeClock, testAgent, testServer } from '../../../kit/public.ts'
import { recordLog } from '../../../kit/record-log.ts'
import type { TestServer } from '../../../kit/test-server.ts'
import { until } from '../../rules/test/fixture.ts'
import { openChangeCounter } from '../change-counter.ts'

type Agent = Pick<Awaited<ReturnType<typeof testAgent>>, 'clientId' | 'close'>

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

/** Disconnects an agent, and waits until the server has noticed. */
async function disconnect({ clientId, close }: Agent, server: TestServer): Promise<void> {
  await close()
  const read = () => server.call<{ connected: boolean }>('GET', `/v1/clients/${clientId}`)
  await until(read, ({ body }) => !body.connected)
}

/** Lets ann use a client, or every client. Returns the id of the grant. */
async function allow(server: TestServer, client_id: string): Promise<string> {
  const ports = { protocols: ['tcp'], listen_port_start: 8000, listen_port_end: 8999 }
  const grant = { user_id: 'ann', client_id, ...ports }
  const { status, body } = await server.call<{ grant_id: string }>('POST', '/v1/grants', grant)
  if (status !== 201) throw new Error(JSON.stringify(body))
  return body.grant_id
}

t.test('the change number stays the same without a change', async t => {
  const { seen } = await open(t)

  t.same(await seen(), await seen())
})

t.test(
  'a client that connects or disconnects is a change for those who may see it, and for no other',
  async t => {
    const { server, seen } = await open(t)
    await allow(server, '*')
    const before = await seen()

    const agent = await testAgent(t, server, 'paris')
    const between = await seen()
    await disconnect(agent, server)
    const after = await seen()

    for (const who of ['operator', 'ann'] as const) {
      t.not(between[who], before[who])
      t.not(after[who], between[who])
    }
    t.equal(after.ben, before.ben)
  }
)

t.test('a user sees a client disconnect if an operator placed the only rule of the user there', async t => {
  const { server, seen } = await open(t)
  const agent = await testAgent(t, server, 'paris')
  const targets = [{ host: 'web', port: 443 }]
  await server.call('POST', '/v1/rules', { client: agent.clientId, owner: 'ann', listen_port: 8443, targets })
  const before = await seen()

  await disconnect(agent, server)
  const after = await seen()

  t.not(after.ann, before.ann)
  t.equal(after.ben, before.ben)
})

t.test('a renamed client is a change for those who may see it, and for no other', async t => {
  const { server, seen } = await open(t)
  const { clientId } = await testAgent(t, server, 'paris')
  await allow(server, clientId)
  const before = await seen()

  const renamed = await server.call('PATCH', `/v1/clients/${clientId}/name`, { client_name: 'lyon' })
  const after = await seen()

  t.equal(renamed.status, 200)
  t.not(after.ann, before.ann)
  t.equal(after.ben, before.ben)
})

t.test('a grant and its end are changes for its user only', async t => {
  const { server, seen } = await open(t)
  const { clientId } = await testAgent(t, server, 'paris')
  const before = await seen()

  const id = await allow(server, clientId)
  const between = await seen()
  await server.call('DELETE', `/v1/grants/${id}`)
  const after = await seen()

  t.not(between.ann, before.ann)
  t.not(after.ann, between.ann)
  t.equal(after.ben, before.ben)
})

t.test('the numbers of two users with the same changes tell nothing about changes of others', async t => {
  const { server, ann, seen } = await open(t)
  const before = await seen()

  for (let i = 0; i < 5; i++) {
    await disconnect(await testAgent(t, server, `hidden-${i}`), server)
    await seen()
  }
  await ann('POST', '/v1/users/ann/credentials', { label: 'ci' })
  const after = await seen()

  t.equal(after.ann, before.ann + 1)
  t.equal(after.ben, before.ben)
  t.not(before.ann, before.ben)
})

t.test('a change by a user is a change for that user and superadmins only', async t => {
  const { ann, seen } = await open(t)
  const before = await seen()

  const { status } = await ann('POST', '/v1/users/ann/credentials', { label: 'ci' })
  const after = await seen()

  t.equal(status, 201)
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

t.test('a thousand users that poll cost another a reload, and no change', async t => {
  const clock = fakeClock()
  const store = {} as Kernel['store'] // without peers and changes of clients, it is not used
  const counter = openChangeCounter(
    { clock, log: recordLog([]), store, shownClients: async () => [] },
    () => false
  )
  const poll = (userId: string) => counter.numberFor({ userId, role: 'user' })
  const before = await poll('bob')

  for (let i = 0; i < 1_001; i++) await poll(`ann-${i}`)
  await poll('bob')
  counter.mark({ user: 'bob' })
  await clock.advance(1_000)

  t.not(await poll('bob'), before)
})

t.test(
  '10,001 clients that connect at once are at most one change for a user who sees one of them',
  async t => {
    const clock = fakeClock()
    const reads: string[] = []
    const store = { read: (work: () => unknown) => work() } as unknown as Kernel['store']
    const shownClients = async (userId: string) => {
      reads.push(userId)
      return userId === 'ann' ? ['client-0', 'client-10000'] : ['none']
    }
    const counter = openChangeCounter({ clock, log: recordLog([]), store, shownClients }, () => false)
    const poll = (userId: string) => counter.numberFor({ userId, role: 'user' })
    const before = await poll('ann')
    const other = await poll('ben')

    counter.mark({ client: 'client-0' })
    await clock.advance(200)
    const first = await poll('ann')
    t.equal(await poll('ben'), other)
    for (let i = 1; i <= 10_000; i++) counter.mark({ client: `client-${i}` })
    await clock.advance(200)

    t.equal(first, before + 1)
    t.same(await Promise.all([poll('ann'), poll('ann')]), [first + 1, first + 1])
    t.equal(await poll('ann'), first + 1)
    t.equal(await poll('ben'), other)
    t.same(reads, ['ann', 'ben', 'ann', 'ann', 'ben'], 'clients are read only after a change of a client')
  }
)
