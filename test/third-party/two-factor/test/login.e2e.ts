// `sluice login` with a code, and the restore of a backup, with real processes.
import { mkdirSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { offerPublicModules } from '../../../../kernel/platform/plugins/import-plugin.ts'
import { sluice } from '../../../support/process.ts'
import { testCluster } from '../../../support/test-cluster.ts'

offerPublicModules()
const { codeAt, stepOf } = await import('../totp.ts')
const folder = join(import.meta.dirname, '..')
const password = 'correct horse battery staple'

t.test('sluice login asks for the code, and the secret opens after a restore', async t => {
  const cluster = await testCluster(t, {}, `[plugins."${folder}"]\n`)
  const user = { user_id: 'ann', display_name: 'Ann', role: 'superadmin', initial_password: password }
  await cluster.call('POST', '/v1/users', user)
  const env = { SVC_SERVER: cluster.origin, XDG_CONFIG_HOME: join(cluster.dir, 'config') }
  t.equal((await sluice(['login', 'ann'], env, `${password}\n`)).code, 0)
  const file = join(cluster.dir, 'config', 'sluice', 'credentials.json')
  const { token } = Object.values(JSON.parse(readFileSync(file, 'utf8')).servers)[0] as { token: string }
  const { secret } = await cluster.call<{ secret: string }>('POST', '/v1/users/me/two-factor', {}, token)
  const step = stepOf(Date.now())
  const code = (drift: number): string => codeAt(secret, step + drift)
  const confirm = { code: code(-1) }
  const { recovery_codes: recovery } = await cluster.call<{ recovery_codes: readonly string[] }>(
    'POST',
    '/v1/users/me/two-factor/confirm',
    confirm,
    token
  )

  t.match(await sluice(['login', 'ann'], env, `${password}\n`), { code: 2, stderr: /set SVC_STEP_ANSWER/ })
  t.match(await sluice(['login', 'ann'], env, `${password}\n${code(-1)}\n`), {
    code: 4,
    stderr: /^step_failed/
  })
  t.equal((await sluice(['login', 'ann'], env, `${password}\n${code(0)}\n`)).code, 0)
  const [first = '', second = ''] = recovery
  const args = ['login', 'ann', '--step-method', 'recovery_code']
  t.equal((await sluice(args, { ...env, SVC_STEP_ANSWER: first }, `${password}\n`)).code, 0)
  t.match(await sluice(['client', 'list'], env), { code: 0 })

  const backups = join(cluster.dir, 'backups')
  mkdirSync(backups)
  t.equal((await cluster.cli(['backup', backups, '--data-dir', join(cluster.dir, 'server')])).code, 0)
  const [name = ''] = readdirSync(backups)
  const output = cluster.server.output()
  for (const hidden of [secret, first, second, password]) t.notMatch(output, hidden)
  cluster.server.signal('SIGTERM')
  await cluster.server.exit
  const restored = join(cluster.dir, 'restored')
  const config = ['--config', cluster.configFile]
  t.equal((await cluster.cli(['restore', join(backups, name), '--data-dir', restored, ...config])).code, 0)
  t.match(readFileSync(join(restored, 'store.key'), 'utf8'), /^[\w-]{43}\n$/)
})
