// `sluice login` with a second factor, and the recipes of docs/SIGN-IN.md, with real processes.
import { mkdirSync, readdirSync, readFileSync, renameSync } from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { sluice } from '../../../test/support/process.ts'
import { type TestCluster, testCluster } from '../../../test/support/test-cluster.ts'
import { codeAt, stepAt } from '../totp.ts'

const password = 'correct horse battery staple'
const recipes = readFileSync(join(import.meta.dirname, '..', '..', '..', 'docs', 'SIGN-IN.md'), 'utf8')

interface Reply {
  readonly secret: string
  readonly recovery_codes: readonly string[]
}

/** A browser that signs in with the password. */
async function browserOf({ origin }: TestCluster, user: string, secret = password) {
  const json = { 'content-type': 'application/json', 'x-svc-csrf': '1', origin }
  const post = (path: string, body: object, cookie = '') =>
    fetch(origin + path, { method: 'POST', headers: { ...json, cookie }, body: JSON.stringify(body) })
  const login = await post('/v1/auth/login', { user_id: user, password: secret })
  const cookie = login.headers.getSetCookie()[0]?.split(';', 1)[0] ?? ''
  return { status: login.status, post: (path: string, body: object) => post(path, body, cookie) }
}

/** Creates a superadmin with an authenticator app. */
async function enrolled(t: Test, cluster: TestCluster, user: string) {
  await cluster.call('POST', '/v1/users', {
    user_id: user,
    display_name: user,
    role: 'superadmin',
    initial_password: password
  })
  const { post } = await browserOf(cluster, user)
  const { secret } = (await (await post('/v1/users/me/totp', {})).json()) as Reply
  const step = stepAt(Date.now())
  /** Codes of this step and of the next are accepted for as long as the test lasts. */
  const code = (drift: 0 | 1): string => codeAt(secret, step + drift)
  const confirmed = await post('/v1/users/me/totp/confirm', { code: code(0) })
  t.equal(confirmed.status, 200)
  const { recovery_codes: recovery } = (await confirmed.json()) as Reply
  return { secret, code, recovery }
}

/** Signs in with a recovery code. Returns the status. */
async function answer({ origin }: TestCluster, user: string, recovery_code: string): Promise<number> {
  const post = (path: string, body: object) =>
    fetch(origin + path, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(body)
    })
  const asked = await post('/v1/auth/login', { user_id: user, password })
  const { error } = (await asked.json()) as { error: { details: { challenge: string } } }
  const { challenge } = error.details
  return (await post('/v1/auth/second-factor', { challenge, recovery_code })).status
}

/** Returns a command of a recipe, without the program. */
function commandIn(text: string): string[] {
  t.ok(recipes.includes(`    sluice ${text}\n`), `docs/SIGN-IN.md has: ${text}`)
  return text.split(' ')
}

t.test('sluice login asks for the second factor, and the token of the login is not asked', async t => {
  const cluster = await testCluster(t)
  const { secret, code, recovery } = await enrolled(t, cluster, 'ann')
  const env = { SVC_SERVER: cluster.origin, XDG_CONFIG_HOME: join(cluster.dir, 'config') }
  const login = (input: string, ...args: string[]) => sluice(['login', 'ann', ...args], env, input)
  t.match(await login(`${password}\n`), { code: 2, stderr: /set SVC_STEP_ANSWER/ })
  t.match(await login(`${password}\n${code(0)}\n`), { code: 4, stderr: /^invalid_second_factor/ })
  t.match(await login(`${password}\n${code(1)}\n`), { code: 0 })
  const [first = '', second = ''] = recovery
  t.match(await login(`${password}\n${first}\n`, '--step-method', 'recovery_code'), { code: 0 })
  t.match(await sluice(['user', 'list'], env), { code: 0 })
  t.match(
    await sluice(['credential', 'issue', '--expires-in-secs', '60'], env),
    { code: 0 },
    'a token needs no fresh session'
  )
  const output = cluster.server.output()
  for (const hidden of [secret, first, second, password]) t.notOk(output.includes(hidden))
})

t.test('recipe: a lost phone', async t => {
  const cluster = await testCluster(t)
  await enrolled(t, cluster, 'ann')
  t.equal((await browserOf(cluster, 'ann')).status, 401)
  t.match(await cluster.cli(commandIn('user drop-second-factors ann')), { code: 0 })
  const browser = await browserOf(cluster, 'ann')
  t.equal(browser.status, 200)
  t.equal((await browser.post('/v1/users/me/totp', {})).status, 201, 'another app')
  t.match(await cluster.cli(commandIn('user reset-password ann')), { code: 0 })
  t.equal((await browser.post('/v1/users/me/totp', {})).status, 401, 'the sessions are ended')
  t.match(await cluster.cli(['user', 'drop-second-factors', 'nobody']), {
    code: 8,
    stderr: /^user_not_found/
  })
})

t.test('recipe: a lost administrator', async t => {
  const cluster = await testCluster(t, {}, 'second_factor = "superadmins"\n')
  await enrolled(t, cluster, 'root')
  cluster.server.signal('SIGTERM')
  await cluster.server.exit
  const data = ['--data-dir', join(cluster.dir, 'server'), '--config', cluster.configFile, '--output', 'json']
  const reset = await cluster.cli([
    ...commandIn('reset-password root --temporary --drop-second-factors'),
    ...data
  ])
  t.equal(reset.code, 0, reset.stderr)
  const { temporary_password: temporary } = JSON.parse(reset.stdout) as { temporary_password: string }
  await cluster.restart()
  t.equal((await browserOf(cluster, 'root')).status, 401, 'the lost password')
  const browser = await browserOf(cluster, 'root', temporary)
  t.equal(browser.status, 200)
  const changed = await browser.post('/v1/users/me/password', {
    current_password: temporary,
    new_password: password,
    new_password_confirm: password
  })
  t.equal(changed.status, 204)
  const again = await browser.post('/v1/users/me/totp', {})
  t.equal(again.status, 201, 'the policy still needs a second factor')
})

t.test('a restored backup accepts no code that was used since, and no app that was removed', async t => {
  const cluster = await testCluster(t)
  const { recovery } = await enrolled(t, cluster, 'ann')
  await enrolled(t, cluster, 'bob')
  const [data, lost, backups] = ['server', 'lost', 'backups'].map(name => join(cluster.dir, name)) as [
    string,
    string,
    string
  ]
  mkdirSync(backups)
  t.equal((await cluster.cli(['backup', backups, '--data-dir', data])).code, 0)
  const [file = ''] = readdirSync(backups)
  const [used = '', unused = ''] = recovery
  t.equal(await answer(cluster, 'ann', used), 200)
  await cluster.call('DELETE', '/v1/users/bob/second-factors')
  cluster.server.signal('SIGTERM')
  await cluster.server.exit

  renameSync(data, lost)
  const restore = ['restore', join(backups, file), '--data-dir', data, '--config', cluster.configFile]
  const restored = await cluster.cli([...restore, '--revocations-from', lost])
  t.equal(restored.code, 0, restored.stderr)
  await cluster.restart()
  t.equal(await answer(cluster, 'ann', used), 401)
  t.equal(await answer(cluster, 'ann', unused), 200)
  t.equal((await browserOf(cluster, 'bob')).status, 200)
})
