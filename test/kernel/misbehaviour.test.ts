// A plugin that misbehaves is named, and harms nobody else.
import t from 'tap'
import { Type } from 'typebox'
import { figuresSlot } from '../../kernel/figures.ts'
import { defineRoute } from '../../kernel/http/route.ts'
import { definePlugin, type Kernel, type PeerCall } from '../../kernel/plugin.ts'
import { answer, Refused } from '../../kernel/wire/message.ts'
import { removingSlot, rowSlot } from '../../plugins/users/slots.ts'
import { Echo } from '../kit/echo.ts'
import { house } from '../kit/house.ts'
import { edge } from '../kit/public.ts'

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

const rowdy = definePlugin({
  name: 'rowdy',
  version: '1.0.0',
  kernel: '^1.0.0',
  needs: { users: '^1.0.0' },
  messages: [Echo],
  handlers: [
    answer(Echo, async (_: PeerCall<Kernel>, body) => {
      if (body.text === 'hang') return new Promise<never>(() => {})
      throw new Error('no such word')
    })
  ],
  routes: [
    get('throws', async () => {
      throw new Error('no such thing')
    }),
    get('hangs', () => new Promise(() => {}))
  ],
  fills: [
    rowSlot.fill({
      key: 'mood',
      schema: Type.String(),
      otherwise: '',
      load: async () => {
        throw new Error('no such mood')
      }
    }),
    figuresSlot.fill(async () => {
      throw new Error('no such figure')
    })
  ]
})

t.test('a route that throws is answered with 500, named in the log, and alone with it', async t => {
  const { call, log } = await house(t, { plugins: ['users', 'clients', rowdy] })

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

t.test('a route that hangs holds up no other', async t => {
  const { call } = await house(t, { plugins: ['users', 'clients', rowdy] })
  void call('GET', '/v1/hangs').catch(() => {}) // it ends with the server
  t.equal((await call('GET', '/v1/clients')).status, 200)
})

t.test(
  "a slot function that throws is told with its stack and who filled the slot, and takes only its owner's route along",
  async t => {
    const { call, log } = await house(t, { plugins: ['users', 'clients', rowdy] })
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

t.test('a slot function that throws at once, and no error but a word, is named, too', async t => {
  const curt = definePlugin({
    name: 'curt',
    version: '1.0.0',
    kernel: '^1.0.0',
    needs: { users: '^1.0.0' },
    fills: [
      removingSlot.fillWith(() => ({
        remove() {
          throw 'no'
        }
      }))
    ]
  })
  const { call, log } = await house(t, { plugins: ['users', curt] })
  await call('POST', '/v1/users', { user_id: 'ann', display_name: 'Ann' })
  t.equal((await call('DELETE', '/v1/users/ann')).status, 500)
  t.match(log.filter(({ event }) => event === 'request.failed').at(-1), {
    fields: { plugin: 'users', slot: 'users.removing', filled_by: 'curt', error: /^Error: no\n/ }
  })
  t.equal((await call('GET', '/v1/users')).status, 200)
})

t.test('a plugin whose figures fail costs a scrape nothing but them', async t => {
  const { call, server, log } = await house(t, {
    plugins: ['users', 'clients', 'metrics', rowdy],
    keys: { metrics_listen: '127.0.0.1:0' }
  })
  const reply = await server.http.app.inject({
    url: '/v1/metrics',
    headers: { authorization: 'Bearer operator-token-of-the-test-kit-0123456789' }
  })
  t.equal(reply.statusCode, 200)
  t.match(reply.body, /^svc_clients_connected|^# HELP/m)
  t.ok(
    log.some(({ message, fields }) => /rowdy|no such figure/.test(message + JSON.stringify(fields))),
    'it is named'
  )
  t.equal((await call('GET', '/v1/clients')).status, 200)
})

t.test('a message handler that throws is a refusal to the agent, and the stream goes on', async t => {
  const home = await house(t, { plugins: ['users', 'clients', 'rules', rowdy] })
  const agent = await edge(t, home, 'paris', { messages: [Echo] })
  await t.rejects(agent.line.ask(Echo, { text: 'speak' }), Refused)
  await t.rejects(agent.line.ask(Echo, { text: 'speak again' }), Refused)
  t.notOk(agent.ended.aborted)
})
