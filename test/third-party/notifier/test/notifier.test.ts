import type { ServerResponse } from 'node:http'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { offerPublicModules } from '../../../../kernel/platform/plugins/import-plugin.ts'
import type { Plugin } from '../../../../kernel/plugin.ts'
import {
  type Caller,
  conform,
  type KitServer,
  runAgent,
  testAgent,
  testServer
} from '../../../../kit/public.ts'
import { until } from '../../../../plugins/rules/test/fixture.ts'
import { openReceiver, status } from './receiver.ts'

offerPublicModules()
const { default: plugin } = (await import('../plugin.ts')) as { default: Plugin } // needs the modules of the line above

interface State {
  readonly kinds: readonly string[]
  readonly waiting: number
  readonly last_result: string | null
}

const url = '/v1/notifier'
const none: State = { kinds: [], waiting: 0, last_result: null }
const ann: Caller = { user: 'ann', by: 'api_token' }
const root: Caller = { user: 'root', role: 'superadmin' }

/** Opens a server with the plugin, and a receiver at an allowed origin. */
async function openNotifier(t: Test) {
  const receiver = await openReceiver(t)
  const section = { origins: [receiver.origin] }
  const server = await testServer(t, { plugins: [plugin], sections: { notifier: section } })
  const choose = (caller: Caller, kinds: readonly string[], path = '/ann') =>
    server.as(caller)('PUT', url, { kinds, url: `${receiver.origin}${path}` })
  const stateOf = async (caller: Caller) => (await server.as(caller)<State>('GET', url)).body
  return {
    server,
    receiver,
    choose,
    stateOf,
    test: (caller: Caller) => server.as(caller)('POST', `${url}/test`),
    /** Resolves when the last attempt of the user has this result, and this number of notes wait. */
    settled: (caller: Caller, result: string, waiting = 0) =>
      until(
        () => stateOf(caller),
        state => state.last_result === result && state.waiting === waiting
      )
  }
}

async function grant(server: KitServer, user: string, clientId: string): Promise<void> {
  const body = {
    user_id: user,
    client_id: clientId,
    listen_port_start: 1,
    listen_port_end: 65_535,
    protocols: ['tcp']
  }
  const { status } = await server.call('POST', '/v1/grants', body)
  if (status !== 201) throw new Error(`grant: ${status}`)
}

async function createRule(server: KitServer, owner: string, client: string) {
  const targets = [{ host: '10.0.0.1', port: 80 }]
  const body = { client, owner, listen_port: 8080, name: 'web', targets }
  return (await server.call<{ rule_id: string }>('POST', '/v1/rules', body)).body.rule_id
}

t.test('the plugin passes sluice plugin check', async t => {
  t.same((await conform(join(import.meta.dirname, '..'))).problems, [])
})

t.test('users get a note when a client they see stays offline, and when it is back', async t => {
  const { server, receiver, choose } = await openNotifier(t)
  const agent = await runAgent(t, server, 'paris')
  await choose(ann, ['client'])
  await choose({ user: 'bob' }, ['client'], '/bob')
  await choose(root, ['client'], '/root')
  await choose('operator', ['client'], '/operator')
  await grant(server, 'ann', agent.clientId)
  await server.clock.advance(5000)

  await agent.stop()
  await server.clock.advance(60_000)
  t.same(receiver.notes, [], 'a minute has not passed since the server has missed it')
  await server.clock.advance(5000)
  await receiver.note(3)
  await agent.restart()
  await agent.connected()
  await server.clock.advance(5000)
  await receiver.note(6)

  const about = { client_id: agent.clientId, client_name: 'paris' }
  for (const path of ['/ann', '/root', '/operator'])
    t.match(
      receiver.notes.filter(note => note.path === path),
      [
        { event: 'client.offline', text: 'paris: offline', ...about },
        { event: 'client.online', text: 'paris: online', ...about }
      ],
      path
    )
  t.notOk(
    receiver.notes.some(({ path }) => path === '/bob'),
    'bob has no grant on the client'
  )
})

t.test('a client that is back within the time is not reported, nor is one that was deleted', async t => {
  const { server, receiver, choose, test } = await openNotifier(t)
  const agent = await runAgent(t, server, 'paris')
  await choose(root, ['client'], '/root')
  await server.clock.advance(5000)

  await agent.stop()
  await server.clock.advance(40_000)
  await agent.restart()
  await agent.connected()
  await server.clock.advance(60_000)
  await agent.stop()
  await server.call('POST', `/v1/clients/${agent.clientId}/revoke`)
  t.equal((await server.call('DELETE', `/v1/clients/${agent.clientId}`)).status, 204)
  await server.clock.advance(120_000)
  await test(root)

  t.equal((await receiver.note(1)).event, 'test')
})

t.test('the owner of a rule gets a note when it fails', async t => {
  const { server, receiver, choose } = await openNotifier(t)
  const agent = await testAgent(t, server, 'paris')
  await choose(ann, ['rule'])
  await choose(root, ['rule'], '/root')
  await grant(server, 'ann', agent.clientId)
  const id = await createRule(server, 'ann', agent.clientId)
  const { revision } = await agent.pushed()

  agent.sendStatus({ kind: 'rule', id, revision, code: 'port_in_use', message: 'port 8080 is taken' })

  t.match(await receiver.note(1), {
    path: '/ann',
    event: 'rule.failed',
    text: 'paris: rule web has failed (port_in_use)',
    rule_id: id,
    client_id: agent.clientId,
    reason: 'port_in_use'
  })
})

t.test('a note about a failed member of a group rule has the id of the group rule', async t => {
  const { server, receiver, choose } = await openNotifier(t)
  const agent = await testAgent(t, server, 'paris')
  await choose('operator', ['rule'], '/operator')
  const targets = [{ host: '10.0.0.1', port: 80 }]
  const group = { clients: { ids: [agent.clientId] }, listen_port: 8080, name: 'web', targets }
  const { body } = await server.call<{ rule_id: string }>('POST', '/v1/rules', group)
  const { rule_id: id, revision } = await agent.pushed()

  agent.sendStatus({ kind: 'rule', id, revision, code: 'port_in_use', message: 'port 8080 is taken' })

  t.not(id, body.rule_id)
  t.match(await receiver.note(1), { rule_id: body.rule_id, text: 'paris: rule web has failed (port_in_use)' })
})

t.test('a user gets a note when a quota reaches 80 % and 100 %, but only with this kind', async t => {
  const { server, receiver, choose, settled } = await openNotifier(t)
  const agent = await testAgent(t, server, 'paris')
  await choose(ann, ['quota'])
  await choose({ user: 'bob' }, ['rule'], '/bob')
  for (const user of ['ann', 'bob']) {
    await grant(server, user, agent.clientId)
    const quota = `/v1/users/${user}/quotas/${agent.clientId}`
    await server.call('PUT', quota, { monthly_bytes: 1000 })
  }
  const rule = await createRule(server, 'ann', agent.clientId)

  await agent.deliver(rule, { in: 400, out: 450 })
  await settled(ann, 'delivered')
  await agent.deliver(rule, { in: 400, out: 850 })
  await receiver.note(2)

  const about = { path: '/ann', event: 'quota.level', client_name: 'paris', monthly_bytes: 1000 }
  t.match(receiver.notes, [
    { ...about, percent: 80, bytes_used: 850, text: 'paris: quota used to 80 %' },
    { ...about, percent: 100, text: 'paris: quota used to 100 %' }
  ])
})

t.test('waiting notes are sent in order, after waits that double, and survive a restart', async t => {
  const { server, receiver, choose, settled, test } = await openNotifier(t)
  await choose(ann, ['rule'])
  receiver.answerNext('/ann', status(500))
  receiver.answerNext('/ann', status(503))
  await test(ann)
  await settled(ann, 'status_500', 1)
  await test(ann)

  await server.clock.advance(5000)
  await receiver.note(2)
  await settled(ann, 'status_503', 2)
  await server.clock.advance(5000)
  t.equal(receiver.notes.length, 2, 'the second wait is 10 s')
  await server.restart()
  await server.clock.advance(5000)
  await receiver.note(4)
  await settled(ann, 'delivered')

  const [first, second, third, fourth] = receiver.notes.map(({ note_id }) => note_id)
  t.same([second, third], [first, first])
  t.not(fourth, first)
})

t.test('Retry-After is a least wait, in seconds or as a date', async t => {
  const { server, receiver, choose, settled, test } = await openNotifier(t)
  await choose(ann, ['rule'])
  receiver.answerNext('/ann', status(429, { 'retry-after': '60' }))
  const date = new Date(server.clock.now() + 120_000).toUTCString()
  receiver.answerNext('/ann', status(503, { 'retry-after': date }))
  await test(ann)
  await settled(ann, 'status_429', 1)

  await server.clock.advance(55_000)
  t.equal(receiver.notes.length, 1)
  await server.clock.advance(5000)
  await settled(ann, 'status_503', 1)
  await server.clock.advance(55_000)
  t.equal(receiver.notes.length, 2)
  await server.clock.advance(5000)
  await settled(ann, 'delivered')

  t.equal(receiver.notes.length, 3)
})

t.test('other statuses are final, also a redirect, and the next note is sent', async t => {
  const { receiver, choose, settled, test } = await openNotifier(t)
  await choose(ann, ['rule'])
  for (const code of [404, 410]) {
    receiver.answerNext('/ann', status(code))
    await test(ann)
    await settled(ann, `status_${code}`)
  }
  receiver.answerNext('/ann', status(307, { location: `${receiver.origin}/elsewhere` }))
  await test(ann)
  await settled(ann, 'status_307')
  await test(ann)
  await settled(ann, 'delivered')

  t.same(
    receiver.notes.map(({ path }) => path),
    ['/ann', '/ann', '/ann', '/ann']
  )
})

t.test('a receiver that does not answer delays no other user', async t => {
  const { receiver, choose, settled, test } = await openNotifier(t)
  await choose(ann, ['rule'])
  await choose(root, ['rule'], '/root')
  const held = Promise.withResolvers<ServerResponse>()
  receiver.answerNext('/ann', held.resolve)
  await test(ann)
  await held.promise

  await test(root)
  await settled(root, 'delivered')
  ;(await held.promise).destroy()
  await settled(ann, 'unreachable', 1)
})

t.test('a note is dropped after a day', async t => {
  const { server, receiver, choose, settled, test } = await openNotifier(t)
  await choose(ann, ['rule'])
  receiver.answerNext('/ann', status(500))
  receiver.answerNext('/ann', status(502))
  await test(ann)
  await settled(ann, 'status_500', 1)

  server.clock.step(86_400_000)
  await server.clock.advance(5000)

  await settled(ann, 'status_502', 0)
})

t.test('a new URL is tried at once', async t => {
  const { server, receiver, choose, settled, test } = await openNotifier(t)
  await choose(ann, ['rule'])
  receiver.answerNext('/ann', status(429, { 'retry-after': '600' }))
  await test(ann)
  await settled(ann, 'status_429', 1)

  t.equal((await server.as(ann)('PUT', url, { kinds: ['client'] })).status, 200)
  await settled(ann, 'delivered')
  receiver.answerNext('/ann', status(500))
  await test(ann)
  await settled(ann, 'status_500', 1)
  await choose(ann, ['rule'], '/new')
  await settled(ann, 'delivered')

  t.same(
    receiver.notes.map(({ path }) => path),
    ['/ann', '/ann', '/ann', '/new']
  )
})

t.test('no more than 100 notes wait for a user', async t => {
  const { server, receiver, choose, settled, test } = await openNotifier(t)
  await choose(ann, ['rule'])
  receiver.answerNext('/ann', status(500))
  for (let i = 0; i < 100; i++) t.equal((await test(ann)).status, 200)
  await settled(ann, 'status_500', 100)

  t.match(await test(ann), { status: 409, body: { error: { code: 'notifier_no_url' } } })
  t.match((await server.call('GET', '/v1/metrics')).text, /^notifier_notes_waiting 100$/m)
})

t.test('a URL is refused unless its origin is allowed, and shown nowhere', async t => {
  const { server, receiver, choose, settled, test } = await openNotifier(t)
  const as = server.as(ann)
  const secret = 'hidden-part-of-the-url'
  const refused = [
    `https://127.0.0.1/${secret}`,
    receiver.origin.replace('//', `//${secret}@`),
    `file:///${secret}`,
    secret,
    ''
  ]

  for (const url of refused)
    t.match(await as('PUT', '/v1/notifier', { kinds: ['rule'], url }), {
      status: 422,
      body: { error: { code: 'notifier_origin_not_allowed', details: { field: '/url' } } }
    })
  t.match(await as('PUT', url, { kinds: ['rule'] }), {
    status: 409,
    body: { error: { code: 'notifier_no_url' } }
  })
  t.match(await as('PUT', url, { kinds: ['rule'], url: secret.repeat(60) }), { status: 400 })
  t.equal((await test(ann)).status, 409)
  receiver.answerNext(`/${secret}`, status(500))
  const chosen = await choose(ann, ['rule'], `/${secret}`)
  await test(ann)
  const state = await settled(ann, 'status_500', 1)

  t.match(chosen, { status: 200, body: { kinds: ['rule'] } })
  const audit = await server.call('GET', '/v1/audit')
  t.match(audit.text, 'notifier.choose')
  for (const shown of [chosen.text, audit.text, JSON.stringify([state, server.log, server.decisions])])
    t.notMatch(shown, secret)
})

t.test('without kinds, after a disable and after a delete nothing of the user stays', async t => {
  const { server, receiver, choose, settled, stateOf, test } = await openNotifier(t)
  const ends = [
    () => server.as(ann)('PUT', url, { kinds: [] }),
    () => server.call('PATCH', '/v1/users/ann', { disabled: true }),
    () => server.call('DELETE', '/v1/users/ann')
  ]
  for (const [i, end] of ends.entries()) {
    await choose(ann, ['rule'])
    receiver.answerNext('/ann', status(500))
    await test(ann)
    await settled(ann, 'status_500', 1)

    t.match((await end()).status, /^20/)
    if (i === 1) await server.call('PATCH', '/v1/users/ann', { disabled: false })

    t.same(await stateOf(i === 2 ? { user: 'ann' } : ann), none) // the session makes another user of this name
  }
  await server.clock.advance(60_000)
  t.equal(receiver.notes.length, 3)
})

t.test('the console lists the page and serves its script', async t => {
  const server = await testServer(t, { plugins: [plugin] })

  const { body } = await server.call<{ element: string; module: string }[]>('GET', '/v1/console/parts')

  const { module = '' } = body.find(({ element }) => element === 'notifier-page') ?? {}
  t.equal((await server.call('GET', module, undefined, { authorization: '' })).status, 200)
})
