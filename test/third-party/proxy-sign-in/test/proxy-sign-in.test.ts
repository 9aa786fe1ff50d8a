import { join } from 'node:path'
import t, { type Test } from 'tap'
import { offerPublicModules } from '../../../../kernel/platform/plugins/import-plugin.ts'
import type { Plugin } from '../../../../kernel/plugin.ts'
import { conform } from '../../../../kit/public.ts'
import { testServer } from '../../../../kit/test-server.ts'

offerPublicModules()
const { default: plugin } = (await import('../plugin.ts')) as { default: Plugin } // needs the modules of the line above

const proxy = { remoteAddress: '192.0.2.7' }
const asAnn = { authorization: '', 'x-forwarded-user': 'ann' }
const sameOrigin = { host: '127.0.0.1', origin: 'http://127.0.0.1', 'x-svc-csrf': '1' }

/** Opens a server with the superadmin root, the user ann, and the plugin. */
async function openServer(t: Test, more: object = {}) {
  const server = await testServer(t, {
    plugins: ['users', 'auth', 'audit', 'credentials', plugin],
    sections: { 'proxy-sign-in': { proxies: ['192.0.2.0/24', '::1'], ...more } }
  })
  for (const [user_id, role] of [
    ['root', 'superadmin'],
    ['ann', 'user']
  ])
    await server.call('POST', '/v1/users', { user_id, display_name: user_id, role })
  return server
}

t.test('the plugin passes sluice plugin check', async t => {
  t.same((await conform(join(import.meta.dirname, '..'), { section: { proxies: ['::1'] } })).problems, [])
})

t.test('a user named in the header of a trusted proxy is signed in', async t => {
  const { call } = await openServer(t)

  t.match(await call('GET', '/v1/users/me', undefined, asAnn, proxy), {
    status: 200,
    body: { user_id: 'ann' }
  })
  t.match(await call('GET', '/v1/users/me', undefined, asAnn, { remoteAddress: '::1' }), { status: 200 })
  t.match(await call('GET', '/v1/users/me', undefined, asAnn, { remoteAddress: '::ffff:192.0.2.7' }), {
    status: 200
  })
})

t.test('the header is ignored from another address, and for an unknown or disabled user', async t => {
  const { call } = await openServer(t)
  const me = (user: string, remoteAddress: string) =>
    call('GET', '/v1/users/me', undefined, { authorization: '', 'x-forwarded-user': user }, { remoteAddress })

  t.match(await me('ann', '198.51.100.1'), { status: 401 })
  t.match(await me('nobody', '192.0.2.7'), { status: 401 })
  t.equal((await call('PATCH', '/v1/users/ann', { disabled: true })).status, 200)
  t.match(await me('ann', '192.0.2.7'), { status: 401 })
})

t.test('a write needs the CSRF header, and the audit log shows the method of the plugin', async t => {
  const { call } = await openServer(t)
  const rename = (headers: Record<string, string>) =>
    call(
      'PATCH',
      '/v1/users/root',
      { display_name: 'Root' },
      { ...asAnn, 'x-forwarded-user': 'root', ...headers },
      proxy
    )

  t.match(await rename({}), { status: 403, body: { error: { code: 'csrf_origin_required' } } })
  t.match(await rename(sameOrigin), { status: 200 })
  t.match(await call('GET', '/v1/audit?limit=1'), {
    body: [{ actor: 'root', auth_method: 'proxy_header' }]
  })
})

t.test('an unknown name becomes a user at its first request, without the superadmin role', async t => {
  const { call } = await openServer(t, { creates: true })
  const me = (user: string) =>
    call('GET', '/v1/users/me', undefined, { authorization: '', 'x-forwarded-user': user }, proxy)

  const both = await Promise.all([me('new'), me('new')])
  for (const reply of both) t.match(reply, { status: 200, body: { user_id: 'new', role: 'user' } })
  t.match(await call('GET', '/v1/audit?limit=1'), {
    body: [{ actor: '_proxy-sign-in', action: 'user.create', resource_id: 'new' }]
  })
  t.match(await me('Not A Name'), { status: 422, body: { error: { code: 'invalid_user_id' } } })
  t.equal((await call('PATCH', '/v1/users/new', { disabled: true })).status, 200)
  t.match(await me('new'), { status: 401 })
})

t.test('the server refuses to start with an invalid proxy address, and the error names it', async t => {
  await t.rejects(openServer(t, { proxies: ['192.0.2.7', 'proxy.example'] }), {
    message: /proxy\.example is not an address/
  })
})
