// A sign-in at a real provider, with a real server process.
import { createServer } from 'node:net'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { sluice } from '../../../test/support/process.ts'
import { testCluster } from '../../../test/support/test-cluster.ts'
import { clientSecret, realProvider } from './oidc-provider.ts'

/** Returns a port that is free now: the configuration must name the origin before the server listens. */
async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1')
  await new Promise(resolve => server.once('listening', resolve))
  const { port } = server.address() as { port: number }
  await new Promise(resolve => server.close(resolve))
  return port
}

async function open(t: Test) {
  const port = await freePort()
  const origin = `http://127.0.0.1:${port}`
  const provider = await realProvider(t, `${origin}/v1/auth/oidc/corp/callback`)
  const config = (more = '') =>
    `operator_http_public_origin = "${origin}"
[plugins.oidc.providers.corp]
issuer = "${provider.issuer}"
client_id = "sluice"
${more}`
  const env = { SVC_OPERATOR_HTTP_LISTEN: `127.0.0.1:${port}`, SVC_OIDC_CORP_SECRET: clientSecret }
  return { origin, provider, config, env }
}

interface Finished {
  readonly return_to?: string
  readonly error?: { readonly code: string }
}

t.test('a real provider signs users in, and a reload changes who may', async t => {
  const { origin, provider, config, env } = await open(t)
  const cluster = await testCluster(t, env, config('make_users = true\n'))
  await cluster.call('POST', '/v1/users', {
    user_id: 'root',
    display_name: 'Root',
    role: 'superadmin',
    initial_password: 'correct horse battery staple'
  })
  const key = { 'x-svc-session-key': 'k'.repeat(32) }
  const page = { origin, 'x-svc-csrf': '1', 'content-type': 'application/json', ...key }
  const signIn = async (account: string) => {
    const begun = await fetch(`${origin}/v1/auth/oidc/corp/start`, {
      method: 'POST',
      headers: page,
      body: JSON.stringify({ return_to: '/rules' })
    })
    const state = begun.headers.getSetCookie()[0]?.split(';', 1)[0] ?? ''
    const { redirect } = (await begun.json()) as { redirect: string }
    const back = await fetch(await provider.signIn(redirect, account), { redirect: 'manual' })
    const [, answer = ''] = back.headers.get('location')?.split('/#oidc=corp&') ?? []
    const finished = await fetch(`${origin}/v1/auth/oidc/corp/finish`, {
      method: 'POST',
      headers: { ...page, cookie: state },
      body: JSON.stringify({ answer })
    })
    const { return_to: to, error } = (await finished.json()) as Finished
    const cookie = finished.headers.getSetCookie().find(one => one.startsWith('svc_session='))
    return { to: to ?? error?.code, cookie: cookie?.split(';', 1)[0] ?? '' }
  }

  provider.accounts.set('ann', { name: 'Ann Miller', groups: ['net'] })
  const { to, cookie } = await signIn('ann')
  t.equal(to, `${origin}/rules`)
  const me = await fetch(`${origin}/v1/users/me`, { headers: { cookie, ...key } })
  t.match(await me.json(), { user_id: 'ann', display_name: 'Ann Miller', role: 'user' })
  t.equal((await fetch(`${origin}/v1/users/me`, { headers: { cookie } })).status, 401, 'without the key')

  cluster.configure(config('make_users = true\nallowed_groups = ["ops"]\n'))
  cluster.server.signal('SIGHUP')
  await cluster.server.until('server.reloaded')
  t.match(await signIn('ann'), { to: 'oidc_not_allowed', cookie: '' })
  provider.accounts.set('ann', { groups: ['ops', 'net'] })
  t.equal((await signIn('ann')).to, `${origin}/rules`)

  const rows = await cluster.json<readonly { identity_id: string }[]>('identity', 'list', 'ann')
  t.match(rows, [{ provider: 'corp', issuer: provider.issuer, sub: 'ann' }])
  const id = rows[0]?.identity_id ?? ''
  t.equal((await cluster.cli(['identity', 'remove', 'ann', id])).code, 0)
  t.equal((await cluster.cli(['identity', 'add', 'root', 'corp', 'ann'])).code, 0)
  const again = await signIn('ann')
  const root = await fetch(`${origin}/v1/users/me`, { headers: { cookie: again.cookie, ...key } })
  t.match(await root.json(), { user_id: 'root', role: 'superadmin' })
  cluster.configure(config('logout = "provider"\n'))
  cluster.server.signal('SIGHUP')
  await cluster.server.until('server.reloaded', undefined, cluster.server.events.length)
  const left = await fetch(`${origin}/v1/auth/logout`, {
    method: 'POST',
    headers: { origin, 'x-svc-csrf': '1', cookie: again.cookie, ...key }
  })
  const { redirect } = (await left.json()) as { redirect: string }
  t.equal((await fetch(redirect)).status, 200, 'the provider accepts the address to come back to')
  const output = cluster.server.output()
  for (const hidden of [clientSecret, 'Ann Miller']) t.notOk(output.includes(hidden))
})

t.test(
  'without the public origin, a start is refused, and a reload keeps the earlier configuration',
  async t => {
    const { provider, env } = await open(t)
    const providers = `[plugins.oidc.providers.corp]\nissuer = "${provider.issuer}"\nclient_id = "sluice"\n`
    const cluster = await testCluster(t, env)
    cluster.configure(providers)
    cluster.server.signal('SIGHUP')
    const refused = await cluster.server.until('server.reload_refused')
    t.match(String(refused['msg'] ?? refused['message']), /needs the key operator_http_public_origin/)
    const listed = await fetch(`${cluster.origin}/v1/auth/providers`)
    t.match(await listed.json(), { password: true, providers: [] })
    const check = await sluice([
      'config',
      'check',
      '--config',
      cluster.configFile,
      '--data-dir',
      join(cluster.dir, 'other')
    ])
    t.match(check, { code: 78, stderr: /operator_http_public_origin/ })
  }
)
