// Scopes of tokens, for routes of the server and of a third-party plugin. test/access/scopes.test.ts calls every route.
import t from 'tap'
import { Type } from 'typebox'
import { defineRoute } from '../../../kernel/http/route.ts'
import { User } from '../../../kernel/identity/entities.ts'
import { definePlugin, type Kernel } from '../../../kernel/plugin.ts'
import type { ChangeEach } from '../../http/exports.ts'
import { headersOf, limitsFixture, refusal } from './limits-fixture.ts'

interface Deps extends Kernel {
  readonly changeEach: ChangeEach
}

const nothing = () => ({ reply: Type.Null(), errors: [] })
const rename = (em: Parameters<Parameters<Kernel['store']['change']>[0]>[0]) =>
  em.nativeUpdate(User, { id: 'bob' }, { displayName: 'renamed' })

/** A plugin of somebody else: its routes name no scope. */
const shop = definePlugin<Deps>({
  name: 'shop',
  version: '1.0.0',
  kernel: '^2.0.0',
  needs: { http: '^1.0.0', users: '^1.0.0' },
  routes: [
    defineRoute({
      method: 'GET',
      url: '/v1/shop',
      action: 'shop.read',
      access: 'user',
      summary: 'Reads.',
      schema: nothing,
      run: async (_: Deps) => null
    }),
    defineRoute({
      method: 'POST',
      url: '/v1/shop',
      action: 'shop.open',
      access: 'user',
      summary: 'Changes.',
      schema: nothing,
      run: async (_: Deps) => null
    }),
    defineRoute({
      method: 'POST',
      url: '/v1/shop/preview',
      action: 'shop.preview',
      access: 'user',
      reads: true,
      summary: 'Reads, but changes a user if the query says so.',
      schema: () => ({
        query: Type.Object({ change: Type.Optional(Type.Boolean()) }, { additionalProperties: false }),
        reply: Type.Null(),
        errors: []
      }),
      async run(_: Deps, { query, change }) {
        if (query.change) await change({ kind: 'user', id: 'bob' }, rename)
        return null
      }
    }),
    defineRoute({
      method: 'POST',
      url: '/v1/shop/many',
      action: 'shop.many',
      access: 'user',
      summary: 'Changes a shop and a user.',
      schema: () => ({ reply: Type.Array(Type.String()), errors: [] }),
      async run({ changeEach }: Deps, call) {
        const part = (action: string) => ({
          action,
          status: 200,
          run: ({ change }: Parameters<Parameters<ChangeEach>[1][number]['run']>[0]) =>
            change({ kind: 'user', id: 'bob' }, rename)
        })
        const options = {
          isAtomic: false,
          isRehearsal: false,
          resource: { kind: 'shop', id: call.requestId }
        }
        const results = await changeEach(call, [part('shop.rename'), part('user.rename')], options)
        return results.map(fault => fault?.errorCode.code ?? 'done')
      }
    }),
    defineRoute({
      method: 'POST',
      url: '/v1/shop/passkey',
      action: 'shop.passkey',
      access: 'session',
      summary: 'Needs a session.',
      schema: nothing,
      run: async (_: Deps) => null
    })
  ]
})

const plugins = ['users', 'auth', 'credentials', 'audit', shop]
const asks = ['GET /v1/shop', 'POST /v1/shop', 'POST /v1/shop/preview', 'POST /v1/shop/preview?change=true']

t.test('a route of a third-party plugin has the scope of its action', async t => {
  const app = await limitsFixture(t, { plugins })
  const expected: Readonly<Record<string, readonly number[]>> = {
    'shop:read': [200, 403, 200, 403],
    'shop:write': [403, 200, 403, 403],
    'shop:read shop:write': [200, 200, 200, 200],
    '*:read': [200, 403, 200, 403],
    '*:write': [403, 200, 403, 403],
    'user:read user:write': [403, 403, 403, 403]
  }

  for (const [scopes, statuses] of Object.entries(expected)) {
    const as = await app.token('ann', { scopes: scopes.split(' ') })
    const got: number[] = []
    for (const ask of asks) {
      const [method = '', url = ''] = ask.split(' ')
      got.push((await app.call(method as 'GET', url, method === 'GET' ? undefined : {}, as)).status)
    }
    t.same(got, statuses, scopes)
  }
  const { body } = await app.call<{ scope: string; routes: string[] }[]>('GET', '/v1/scopes')
  t.same(
    body.filter(({ scope }) => scope.startsWith('shop:')),
    [
      { scope: 'shop:read', routes: ['GET /v1/shop', 'POST /v1/shop/preview'] },
      { scope: 'shop:write', routes: ['POST /v1/shop', 'POST /v1/shop/many'] }
    ]
  )
})

t.test('each part of a request needs the scope that its action names', async t => {
  const app = await limitsFixture(t, { plugins })
  const many = async (scopes: string[] | null) =>
    (await app.call('POST', '/v1/shop/many', {}, await app.token('ann', { scopes }))).body

  t.same(await many(['shop:write']), ['done', 'scope_required'])
  t.same(await many(['shop:write', 'user:write']), ['done', 'done'])
  t.same(await many(null), ['done', 'done'])
  t.match(
    app.decisions.filter(({ reason }) => reason === 'scope_required'),
    [{ action: 'user.rename', actor: 'ann', outcome: 'deny', status: 403 }]
  )
})

t.test('the role is judged before the scope, and the refusal names the scope', async t => {
  const app = await limitsFixture(t, { plugins })
  const scopes = ['shop:read']

  const asUser = await app.call('GET', '/v1/users', undefined, await app.token('ann', { scopes }))
  const asRoot = await app.call('GET', '/v1/users', undefined, await app.token('root', { scopes }))

  t.match(asUser, refusal(403, 'role_required'))
  t.match(asRoot, refusal(403, 'scope_required', { scope: 'user:read' }))
  t.match(app.decisions.at(-1), { actor: 'root', outcome: 'deny', reason: 'scope_required' })
})

t.test('a route for sessions refuses every token before it judges the scope', async t => {
  const app = await limitsFixture(t, { plugins })

  for (const as of [undefined, await app.token('ann'), await app.token('ann', { scopes: ['shop:read'] })])
    t.match(await app.call('POST', '/v1/shop/passkey', {}, as), refusal(403, 'session_required'))
})

t.test('a token without any scope reads only its user', async t => {
  const app = await limitsFixture(t)
  const as = await app.token('ann', { scopes: [] })

  t.match(await app.call('GET', '/v1/users/me', undefined, as), { status: 200, body: { user_id: 'ann' } })
  t.match(await app.call('POST', '/v1/auth/logout', {}, as), refusal(401, 'unauthenticated'))
  t.match(await app.call('GET', '/v1/users/ann', undefined, as), refusal(403, 'scope_required'))
})

t.test('an unknown scope is refused by its place in the list, and issues nothing', async t => {
  const app = await limitsFixture(t)

  for (const unknown of [
    'rule',
    'shop:read',
    'user:',
    'user:admin',
    'USER:read',
    '*',
    'user:read user:write',
    ''
  ])
    t.match(
      await app.issue('ann', { scopes: ['user:read', unknown] }),
      refusal(400, 'validation.scopes', { field: '/scopes/1' }),
      unknown
    )
  t.match(await app.issue('ann', { scopes: 'user:read' }), refusal(400, 'validation.schema'))
  t.same((await app.call('GET', '/v1/users/ann/credentials')).body, [])
})

t.test('the row shows scopes and sources once each, in their shortest form', async t => {
  const app = await limitsFixture(t)
  const scopes = ['user:read', 'user:read', '*:write']
  const allowed_sources = [
    '10.1.2.3/8',
    '192.0.2.7',
    '::ffff:192.0.2.7',
    '2001:DB8:0::1/32',
    '::ffff:10.0.0.0/104'
  ]

  const { body } = await app.issue('ann', { scopes, allowed_sources })

  t.match(await app.row('ann', body.credential_id), {
    scopes: ['user:read', '*:write'],
    allowed_sources: ['10.0.0.0/8', '192.0.2.7/32', '2001:db8::/32']
  })
  t.notOk('scopes' in body, 'the reply is that of earlier versions')
})

t.test('rotation keeps scopes and sources', async t => {
  const app = await limitsFixture(t)
  const { body } = await app.issue('ann', { scopes: ['user:read'], allowed_sources: ['127.0.0.0/8'] })

  const rotated = await app.rotate('ann', body.credential_id)

  t.match(await app.row('ann', body.credential_id), {
    scopes: ['user:read'],
    allowed_sources: ['127.0.0.0/8'],
    last_used_from: null
  })
  t.match(
    await app.call('POST', '/v1/users/ann/credentials', {}, headersOf(rotated.body)),
    refusal(403, 'scope_required', { scope: 'credential:write' })
  )
})
