// The commands login and logout, with real processes.
import { readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { sluice } from '../../../test/support/process.ts'
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
