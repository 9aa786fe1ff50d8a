// A new user's first minute: one command, two lines to paste. The next start finds the same state.
import { spawnSync } from 'node:child_process'
import { existsSync, mkdirSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { freePort } from '../support/ports.ts'
import { start } from '../support/process.ts'
import { get } from '../support/web.ts'

t.test('up starts a server and an enrolled agent, and the commands that it prints work', async t => {
  const dir = join(t.testdir(), 'data')
  const env = {
    SVC_DATA_DIR: dir,
    SVC_OPERATOR_HTTP_LISTEN: `127.0.0.1:${await freePort()}`,
    SVC_CONTROL_LISTEN: `127.0.0.1:${await freePort()}`,
    SVC_METRICS_LISTEN: '127.0.0.1:0'
  }
  const first = start(t, ['up'], env)
  await first.until('client.connected')
  t.match(first.output(), /setup token/)
  t.match(first.output(), /operator token: .*operator-token/)
  t.equal(statSync(join(dir, 'operator-token')).mode & 0o777, 0o600)
  const port = await freePort()

  const [push = ''] = /^ {2}(SVC_.* rule push .*)$/m.exec(first.output())?.slice(1) ?? []
  const pasted = spawnSync('sh', ['-c', push.replace(' 8080 ', ` ${port} `)], { encoding: 'utf8' })
  t.equal(pasted.status, 0, pasted.stderr)
  t.equal(await get(`http://127.0.0.1:${port}/v1/auth/status`), '{"onboarding_required":true}')

  first.signal('SIGINT')
  t.equal(await first.exit, 0)
  await t.rejects(get(`http://127.0.0.1:${port}/v1/auth/status`))

  const startedAt = Date.now()
  const second = start(t, ['up'], env)
  await second.until('client.connected')
  t.comment(`second start: ${Date.now() - startedAt} ms`)
  t.equal(second.count('agent.enrolled'), 0)
  t.equal(await get(`http://127.0.0.1:${port}/v1/auth/status`), '{"onboarding_required":true}')
  second.signal('SIGTERM')
  t.equal(await second.exit, 0)
})

t.test('up reads configuration and environment like server', async t => {
  const dir = t.testdir({})
  const config = join(dir, 'sluice.toml')
  const api = await freePort()
  const control = await freePort()
  const text = [`control_listen = "127.0.0.1:${control}"`, `data_dir = "${join(dir, 'data')}"`, '']
  writeFileSync(config, text.join('\n'))
  const token = 'operator-token-from-the-environment'
  const up = start(t, ['up', '--config', config], {
    SVC_OPERATOR_TOKEN: token,
    SVC_OPERATOR_HTTP_LISTEN: `127.0.0.1:${api}`,
    SVC_METRICS_LISTEN: '127.0.0.1:0',
    SVC_ENROLLMENT_TTL_SECS: ''
  })

  t.match(await up.until('server.started'), { control_port: control })
  await up.until('client.connected')
  t.notOk(existsSync(join(dir, 'data', 'operator-token')))
  const reply = await fetch(`http://127.0.0.1:${api}/v1/users/me`, {
    headers: { authorization: `Bearer ${token}` }
  })
  t.match(await reply.json(), { user_id: '_operator' })
  t.notMatch(up.output(), token)
  up.signal('SIGTERM')
  t.equal(await up.exit, 0)
})

t.test('a second server on the same data exits with 75', async t => {
  const dir = join(t.testdir(), 'data')
  mkdirSync(dir, { mode: 0o700 })
  const free = '127.0.0.1:0'
  const env = { SVC_OPERATOR_HTTP_LISTEN: free, SVC_CONTROL_LISTEN: free, SVC_METRICS_LISTEN: free }
  const first = start(t, ['server', '--data-dir', dir], env)
  await first.until('server.started')

  const second = start(t, ['server', '--data-dir', dir], env)

  t.equal(await second.exit, 75)
  t.match(second.output(), /startup\.store_in_use/)
})
