// The commands login and logout, with real processes.
import { once } from 'node:events'
import { readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { sluice, start } from '../../../test/support/process.ts'
import { token as operatorToken, testCluster } from '../../../test/support/test-cluster.ts'

const password = 'correct horse battery staple'

t.test('after a login commands need no SVC_TOKEN; after a logout they are unauthenticated', async t => {
  const cluster = await testCluster(t)
  const api = (path: string, body: object) =>
    fetch(`${cluster.origin}${path}`, {
      method: 'POST',
      headers: {
        authorization: `Bearer ${operatorToken}`,
        'content-type': 'application/json'
      },
      body: JSON.stringify(body)
    })
  const user = { user_id: 'ann', display_name: 'Ann', role: 'superadmin', initial_password: password }
  t.equal((await api('/v1/users', { ...user, password_change_required: false })).status, 201)
  const env = { SVC_SERVER: cluster.origin, XDG_CONFIG_HOME: join(cluster.dir, 'config') }
  const file = join(cluster.dir, 'config', 'sluice', 'credentials.json')

  t.match(await sluice(['login', 'ann'], env, 'wrong\n'), { code: 4, stderr: /^invalid_login/ })
  const login = await sluice(['login', 'ann', '--output', 'json'], env, `${password}\n`)
  t.equal(login.code, 0, login.stderr)
  t.equal(statSync(file).mode & 0o777, 0o600)
  t.notMatch(login.stdout + login.stderr, /svct_/, 'the token is not shown')
  t.match(await sluice(['client', 'list'], env), { code: 0, stderr: '' })
  const { token } = Object.values(JSON.parse(readFileSync(file, 'utf8')).servers)[0] as { token: string }
  t.match(await cluster.json('credential', 'list', '--user', 'ann'), [{ label: /^cli@/, revoked_at: null }])

  t.equal((await sluice(['login', 'ann'], { ...env, SVC_PASSWORD: password })).code, 0)
  t.equal(
    (await sluice(['client', 'list'], { ...env, SVC_TOKEN: token })).code,
    4,
    'the earlier token is revoked'
  )
  t.equal((await sluice(['logout'], env)).code, 0)
  t.match(await sluice(['client', 'list'], env), { code: 4, stderr: /^unauthenticated/ })
  t.match(await sluice(['logout'], env), { code: 4, stderr: /there is no login to/ })
  t.equal(
    (await sluice(['login', 'ann', '--server', 'http://10.0.0.1'], env, 'x\n')).code,
    2,
    'plain http is refused'
  )
})

t.test(
  'a login lives as long as the server allows, and replaces the earlier one, also of a viewer',
  async t => {
    const cluster = await testCluster(t, {}, 'credential_max_secs = 3600\n')
    for (const role of ['superadmin', 'viewer']) {
      const body = { user_id: role, display_name: role, role, initial_password: password }
      const created = await fetch(`${cluster.origin}/v1/users`, {
        method: 'POST',
        headers: { authorization: `Bearer ${operatorToken}`, 'content-type': 'application/json' },
        body: JSON.stringify({ ...body, password_change_required: false })
      })
      t.equal(created.status, 201)
    }
    const env = {
      SVC_SERVER: cluster.origin,
      XDG_CONFIG_HOME: join(cluster.dir, 'config'),
      SVC_PASSWORD: password
    }

    for (const time of ['first', 'second'])
      t.match(await sluice(['login', 'viewer'], env), { code: 0, stderr: '' }, time)

    const list = await sluice(['credential', 'list', '--output', 'json'], env)
    const tokens = JSON.parse(list.stdout) as { created_at: string; expires_at: string }[]
    t.match(tokens, [
      { scopes: ['*:read'], revoked_at: /^2/ },
      { scopes: ['*:read'], revoked_at: null }
    ])
    for (const { created_at, expires_at } of tokens)
      t.equal(Date.parse(expires_at) - Date.parse(created_at), 3_600_000)
  }
)

t.test('a login without a user waits until somebody has approved its code', async t => {
  const cluster = await testCluster(t)
  const env = { SVC_SERVER: cluster.origin, XDG_CONFIG_HOME: join(cluster.dir, 'config') }
  const ann = { user_id: 'ann', display_name: 'Ann', role: 'viewer', initial_password: password }
  await cluster.call('POST', '/v1/users', { user_id: 'root', display_name: 'Root', role: 'superadmin' })
  await cluster.call('POST', '/v1/users', { ...ann, password_change_required: false })
  const page = await signIn(cluster.origin, 'ann')

  const waiting = start(t, ['login', '--read-only', '--output', 'json'], env)
  const code = await codeOf(waiting)
  t.match(waiting.output(), `open ${cluster.origin}/device in a browser`)
  t.match(await page('/v1/auth/device/review', code), {
    label: /^cli@/,
    remote_addr: '127.0.0.1',
    scopes: ['*:read']
  })
  await page('/v1/auth/device/approve', code)

  t.equal(await waiting.exit, 0, waiting.output())
  t.notMatch(waiting.output(), /svct_/, 'the token is not shown')
  t.match(waiting.output(), '"user_id": "ann"')
  t.match(await sluice(['rule', 'list'], env), { code: 0 })
  t.match(await sluice(['rule', 'push', 'paris', '80', 'a:1'], env), {
    code: 5,
    stderr: /^(scope|role)_required/
  })

  const refused = start(t, ['login'], env)
  await page('/v1/auth/device/deny', await codeOf(refused))
  t.equal(await refused.exit, 3)
  t.match(refused.output(), 'access_denied')
  t.match(await sluice(['rule', 'list'], env), { code: 0 }, 'the earlier login stays')
})

t.test('without the plugin for it, a login without a user says what to give', async t => {
  const cluster = await testCluster(t, {}, '[plugins.device-login]\nenabled = false\n')
  const { code, stderr } = await sluice(['login'], { SVC_SERVER: cluster.origin })
  t.match(
    { code, stderr },
    { code: 8, stderr: 'this server has no sign-in by a browser; give the user: sluice login USER' }
  )
  t.match(await sluice(['login', 'ann', '--read-only'], { SVC_SERVER: cluster.origin }), {
    code: 2,
    stderr: /omit USER/
  })
})

t.test('--sso leads to the sign-in page with a provider of the server selected', async t => {
  const provider = (name: string) =>
    `[plugins.oidc.providers.${name}]\nissuer = "https://${name}.example.com"\nclient_id = "sluice"\n`
  const origin = 'operator_http_public_origin = "https://sluice.example.com"\n'
  const cluster = await testCluster(t, {}, origin + provider('corp'))
  const env = { SVC_SERVER: cluster.origin }
  const link = /or open (\S+)/

  for (const words of [['--sso'], ['--sso', 'corp'], ['--read-only', '--sso=corp']]) {
    const waiting = start(t, ['login', ...words], env)
    const code = await codeOf(waiting)
    t.match(waiting.output(), 'open https://sluice.example.com/device#provider=corp in a browser')
    const [, address] = link.exec(waiting.output()) ?? []
    t.equal(address, `https://sluice.example.com/device?code=${code}#provider=corp`)
    waiting.child.kill()
  }
  t.match(await sluice(['login', '--sso', 'other'], env), {
    code: 8,
    stderr: 'no provider other; this server has: corp'
  })
  t.match(await sluice(['login', 'ann', '--sso'], env), { code: 2, stderr: /has no --sso; omit USER/ })

  const restart = async (config: string): Promise<void> => {
    cluster.server.signal('SIGTERM')
    await cluster.server.exit
    cluster.configure(config)
    await cluster.restart()
  }
  await restart(origin + provider('corp') + provider('dev'))
  t.match(await sluice(['login', '--sso'], env), {
    code: 2,
    stderr: '--sso needs the name of a provider; this server has: corp, dev'
  })

  for (const none of ['', '[plugins.oidc]\nenabled = false\n']) {
    await restart(none)
    t.match(await sluice(['login', '--sso'], env), {
      code: 8,
      stderr: /^not_found: this server has no provider/
    })
  }
})

/** Signs in like a page. Returns a function that posts a user code. */
async function signIn(origin: string, user: string) {
  const proofs = { 'content-type': 'application/json', origin, 'x-svc-csrf': '1' }
  const body = JSON.stringify({ user_id: user, password })
  const login = await fetch(`${origin}/v1/auth/login`, { method: 'POST', headers: proofs, body })
  const cookie = login.headers.getSetCookie()[0]?.split(';')[0] ?? ''
  return async (path: string, code: string): Promise<object | null> => {
    const init = { method: 'POST', headers: { ...proofs, cookie }, body: JSON.stringify({ user_code: code }) }
    const reply = await fetch(origin + path, init)
    if (!reply.ok) throw new Error(await reply.text())
    return reply.status === 204 ? null : ((await reply.json()) as object)
  }
}

async function codeOf({ child, output, exit }: ReturnType<typeof start>): Promise<string> {
  for (;;) {
    const [, code] = /enter the code (\S{9})/.exec(output()) ?? []
    if (code !== undefined) return code
    if (child.exitCode !== null) throw new Error(`the login ended with ${await exit}: ${output()}`)
    await once(child.stderr ?? child, 'data')
  }
}
