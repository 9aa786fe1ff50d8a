// Errors and hangs of a plugin are logged with its name and do not affect other plugins.
import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import t from 'tap'
import { Type } from 'typebox'
import { type Attribution, attributed, attributionOf, withTimeout } from '../../kernel/base/attribution.ts'
import { defineRoute } from '../../kernel/http/route.ts'
import { User } from '../../kernel/identity/entities.ts'
import { metricsSlot } from '../../kernel/metrics.ts'
import { definePlugin, type Kernel, type PeerCall } from '../../kernel/plugin.ts'
import { Refused, respond } from '../../kernel/wire/message.ts'
import { testAgent } from '../../kit/public.ts'
import { operatorToken, testServer } from '../../kit/test-server.ts'
import { removalSlot, rowFieldSlot } from '../../plugins/users/exports.ts'
import { Echo } from '../support/echo.ts'
import { fakeTimers } from '../support/fake-timers.ts'

const run = promisify(execFile)

const get = (path: string, run: () => Promise<{ ok: boolean }>) =>
  defineRoute({
    method: 'GET',
    url: `/v1/${path}`,
    action: `rowdy.${path}`,
    access: 'superadmin',
    status: 200,
    summary: 'Misbehaves.',
    schema: () => ({ reply: Type.Object({ ok: Type.Boolean() }) }),
    run: (_deps: Kernel) => run()
  })

let onHang = (): void => {} // called when a call begins to hang
const hang = (): Promise<never> => {
  onHang()
  return new Promise(() => {})
}
const untilHanging = () => new Promise<void>(resolve => (onHang = resolve))

const rowdy = definePlugin({
  name: 'rowdy',
  version: '1.0.0',
  kernel: '^2.0.0',
  needs: { users: '^1.0.0' },
  messages: [Echo],
  handlers: [
    respond(Echo, async (_: PeerCall<Kernel>, body) => {
      if (body.text === 'hang') return hang()
      throw new Error('no such text')
    })
  ],
  routes: [
    get('throws', async () => {
      throw new Error('no such thing')
    }),
    get('hangs', hang)
  ],
  fills: [
    rowFieldSlot.fill({
      key: 'mood',
      schema: Type.String(),
      defaultValue: '',
      load: async () => {
        throw new Error('no such mood')
      }
    }),
    metricsSlot.fill(async () => {
      throw new Error('no such metric')
    })
  ]
})

t.test('a route that throws gives 500 and a log line, and no other route is affected', async t => {
  const { call, log } = await testServer(t, { plugins: ['users', 'clients', rowdy] })

  t.match(await call('GET', '/v1/throws'), {
    status: 500,
    body: { error: { code: 'internal', message: /request/i } }
  })
  t.match(
    log.filter(({ event }) => event === 'request.failed'),
    [{ fields: { plugin: 'rowdy', error: /no such thing/ } }]
  )
  t.equal((await call('GET', '/v1/clients')).status, 200)
})

t.test('a route that hangs gives 500 and a log line after 90 s, and delays no other route', async t => {
  const { call, log } = await testServer(t, { plugins: ['users', 'clients', rowdy] })
  const hanging = untilHanging()
  const timers = fakeTimers(t)
  const answer = call('GET', '/v1/hangs')
  await hanging
  t.equal((await call('GET', '/v1/clients')).status, 200)

  timers.advance(90)

  t.match(await answer, { status: 500, body: { error: { code: 'internal' } } })
  t.match(
    log.filter(({ event }) => event === 'request.failed'),
    [{ fields: { plugin: 'rowdy', error: /rowdy\.hangs took more than 90 s/ } }]
  )
})

t.test(
  'a slot function that hangs in a transaction is named and rolled back, and its later writes fail',
  async t => {
    const called = Promise.withResolvers<void>()
    const resumed = Promise.withResolvers<void>()
    let late: Promise<unknown> = resumed.promise
    const slow = definePlugin({
      name: 'slow',
      version: '1.0.0',
      kernel: '^2.0.0',
      needs: { users: '^1.0.0' },
      fills: [
        removalSlot.fill({
          remove(user, em) {
            late = resumed.promise.then(() => em.nativeUpdate(User, { id: user.id }, { displayName: 'Late' }))
            called.resolve()
            return late.then(() => ({ ids: [] }))
          }
        })
      ]
    })
    const { call, log } = await testServer(t, { plugins: ['users', slow] })
    const timers = fakeTimers(t)
    await call('POST', '/v1/users', { user_id: 'ann', display_name: 'Ann' })
    const removing = call('DELETE', '/v1/users/ann')
    await called.promise

    timers.advance(15)

    t.equal((await removing).status, 500)
    t.match(log.filter(({ event }) => event === 'request.failed').at(-1), {
      fields: {
        plugin: 'users',
        slot: 'users.removing',
        filled_by: 'slow',
        error: /a transaction took more than 15 s, in users\.removing of slow/
      }
    })
    resumed.resolve()
    await t.rejects(late, /rolled back/)
    t.match(await call('GET', '/v1/users/ann'), { status: 200, body: { display_name: 'Ann' } })
    t.equal((await call('POST', '/v1/users', { user_id: 'bob', display_name: 'Bob' })).status, 201)
  }
)

t.test('a timeout names the innermost of nested slot functions that hang', async t => {
  const [outer, inner] = ['outer', 'inner'].map(filled_by => ({ slot: 'a.b', filled_by }))
  const timers = fakeTimers(t)
  const failed = withTimeout(1, 'it', () =>
    attributed(outer as Attribution, async () => {
      await attributed(inner as Attribution, async () => {})
      await withTimeout(5, 'more', () => attributed(inner as Attribution, () => new Promise<void>(() => {})))
    })
  ).catch((error: unknown) => error)
  timers.advance(1)

  t.match(await failed, { message: 'it took more than 1 s, in a.b of inner' })
  t.same(attributionOf(await failed), inner)
})

t.test('a hang is named, even if nothing else keeps the process alive', async t => {
  const script = `import { withTimeout } from '${new URL('../../kernel/base/attribution.ts', import.meta.url)}'
    await withTimeout(0.01, 'start', () => new Promise(() => {})).catch(({ message }) => console.log(message))`
  const { stdout } = await run(process.execPath, ['--input-type=module', '--eval', script])
  t.equal(stdout, 'start took more than 0.01 s\n')
})

t.test('changes of a route after its error response are rolled back', async t => {
  const called = Promise.withResolvers<void>()
  const resumed = Promise.withResolvers<void>()
  let late: Promise<unknown> = Promise.resolve()
  const slow = definePlugin({
    name: 'slow',
    version: '1.0.0',
    kernel: '^2.0.0',
    routes: [
      defineRoute({
        method: 'POST',
        url: '/v1/slow',
        action: 'slow.change',
        access: 'superadmin',
        status: 200,
        summary: 'Changes much later.',
        schema: () => ({ reply: Type.Object({}) }),
        async run(_deps: Kernel, { change }) {
          late = resumed.promise.then(() =>
            change({ kind: 'user', id: 'ann' }, em =>
              em.nativeUpdate(User, { id: 'ann' }, { displayName: 'Late' })
            )
          )
          called.resolve()
          await late
          return {}
        }
      })
    ]
  })
  const { call } = await testServer(t, { plugins: ['users', slow] })
  const timers = fakeTimers(t)
  await call('POST', '/v1/users', { user_id: 'ann', display_name: 'Ann' })
  const changing = call('POST', '/v1/slow', {})
  await called.promise
  timers.advance(90)
  t.equal((await changing).status, 500)

  resumed.resolve()

  await t.rejects(late, /an error response was already sent/)
  t.match(await call('GET', '/v1/users/ann'), { body: { display_name: 'Ann' } })
})

t.test(
  "an error in a slot function is logged with its stack and the filling plugin, and fails only the owner's route",
  async t => {
    const { call, log } = await testServer(t, { plugins: ['users', 'clients', rowdy] })
    await call('POST', '/v1/users', { user_id: 'ann', display_name: 'Ann' })
    t.equal((await call('GET', '/v1/users')).status, 500)
    t.match(log.filter(({ event }) => event === 'request.failed').at(-1), {
      fields: {
        plugin: 'users',
        slot: 'users.row',
        filled_by: 'rowdy',
        error: /no such mood[\s\S]*misbehaviour/
      }
    })
    t.equal((await call('GET', '/v1/clients')).status, 200)
  }
)

t.test('a slot function that throws a string synchronously is also named', async t => {
  const curt = definePlugin({
    name: 'curt',
    version: '1.0.0',
    kernel: '^2.0.0',
    needs: { users: '^1.0.0' },
    fills: [
      removalSlot.fillWith(() => ({
        remove() {
          throw 'no'
        }
      }))
    ]
  })
  const { call, log } = await testServer(t, { plugins: ['users', curt] })
  await call('POST', '/v1/users', { user_id: 'ann', display_name: 'Ann' })
  t.equal((await call('DELETE', '/v1/users/ann')).status, 500)
  t.match(log.filter(({ event }) => event === 'request.failed').at(-1), {
    fields: { plugin: 'users', slot: 'users.removing', filled_by: 'curt', error: /^Error: no\n/ }
  })
  t.equal((await call('GET', '/v1/users')).status, 200)
})

t.test('metrics that fail are missing, and the rest of the scrape is complete', async t => {
  const { call, server, log } = await testServer(t, {
    plugins: ['users', 'clients', 'metrics', rowdy],
    keys: { metrics_listen: '127.0.0.1:0' }
  })
  const reply = await server.http.app.inject({
    url: '/v1/metrics',
    headers: { authorization: `Bearer ${operatorToken}` }
  })
  t.equal(reply.statusCode, 200)
  t.match(reply.body, /^svc_clients_connected|^# HELP/m)
  t.ok(
    log.some(({ message, fields }) => /rowdy|no such metric/.test(message + JSON.stringify(fields))),
    'it is named'
  )
  t.equal((await call('GET', '/v1/clients')).status, 200)
})

t.test('metrics that hang are missing, and the rest of the scrape is complete', async t => {
  const mute = definePlugin({
    name: 'mute',
    version: '1.0.0',
    kernel: '^2.0.0',
    fills: [metricsSlot.fill(hang)]
  })
  const { server, log } = await testServer(t, {
    plugins: ['users', 'clients', 'metrics', mute],
    keys: { metrics_listen: '127.0.0.1:0' }
  })
  const hanging = untilHanging()
  const timers = fakeTimers(t)
  const scraping = server.http.app.inject({
    url: '/v1/metrics',
    headers: { authorization: `Bearer ${operatorToken}` }
  })
  await hanging
  timers.advance(5)

  t.match((await scraping).body, /svc_clients_connected/)
  t.match(
    log.filter(({ event }) => event === 'metrics.collect_failed'),
    [{ fields: { plugin: 'mute' }, message: /took more than 5 s/ }]
  )
})

t.test('a message handler that hangs is named and refused, and its stream stays up', async t => {
  const server = await testServer(t, { plugins: ['users', 'clients', 'rules', rowdy] })
  const agent = await testAgent(t, server, 'paris', { messages: [Echo] })
  const hanging = untilHanging()
  const timers = fakeTimers(t)
  agent.channel.send(Echo, { text: 'hang' })
  const next = t.rejects(agent.channel.request(Echo, { text: 'throw' }), Refused)
  await hanging
  timers.advance(20)

  await next
  t.match(
    server.log.find(({ event }) => event === 'control.handler_failed'),
    { fields: { message: Echo.name, plugin: 'rowdy', error: /sluice\.echo\.Echo took more than 20 s/ } }
  )
  t.notOk(agent.ended.aborted)
})

t.test('a message handler that throws becomes a refusal to the agent, and the stream stays up', async t => {
  const server = await testServer(t, { plugins: ['users', 'clients', 'rules', rowdy] })
  const agent = await testAgent(t, server, 'paris', { messages: [Echo] })
  await t.rejects(agent.channel.request(Echo, { text: 'throw' }), Refused)
  await t.rejects(agent.channel.request(Echo, { text: 'throw again' }), Refused)
  t.notOk(agent.ended.aborted)
})
