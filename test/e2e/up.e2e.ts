// A new user's first minute: one command, two lines to paste. The next start finds the same state.
import { spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdirSync, statSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
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

  const page = createServer((_, reply) => reply.end('it works'))
  page.listen(0, '127.0.0.1')
  await once(page, 'listening')
  t.teardown(() => page.close())
  const [push = ''] = /^ {2}(SVC_.* rule push .*)$/m.exec(first.output())?.slice(1) ?? []
  const target = (page.address() as AddressInfo).port
  const command = push.replace(' 8080 ', ` ${port} `).replace(':8000', `:${target}`)
  const pasted = spawnSync('sh', ['-c', command], { encoding: 'utf8' })
  t.equal(pasted.status, 0, pasted.stderr)
  t.equal(await get(`http://127.0.0.1:${port}/`), 'it works')

  first.signal('SIGINT')
  t.equal(await first.exit, 0)
  await t.rejects(get(`http://127.0.0.1:${port}/`))

  const startedAt = Date.now()
  const second = start(t, ['up'], env)
  await second.until('client.connected')
  t.comment(`second start: ${Date.now() - startedAt} ms`)
  t.equal(second.count('agent.enrolled'), 0)
  t.match(second.output(), / rule list$/m)
  t.notMatch(second.output(), / rule push /, 'the port of the first rule is taken')
  t.equal(await get(`http://127.0.0.1:${port}/`), 'it works')
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

t.test('no rule of the agent of up leads to the API, the metrics or the control port', async t => {
  const dir = join(t.testdir(), 'data')
  const token = 'operator-token-from-the-environment'
  const [api, control, metrics, own] = await Promise.all([freePort(), freePort(), freePort(), freePort()])
  const up = start(t, ['up'], {
    SVC_DATA_DIR: dir,
    SVC_OPERATOR_TOKEN: token,
    SVC_OPERATOR_HTTP_LISTEN: `127.0.0.1:${api}`,
    SVC_CONTROL_LISTEN: `0.0.0.0:${control}`,
    SVC_METRICS_LISTEN: `127.0.0.1:${metrics}`,
    SVC_AGENT_DENY_LOCAL_PORTS: String(own)
  })
  await up.until('client.connected')
  const push = async (host: string, port: number) => {
    const listen_port = await freePort()
    const body = JSON.stringify({ client: 'local', listen_port, targets: [{ host, port }] })
    const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' }
    const reply = await fetch(`http://127.0.0.1:${api}/v1/rules`, { method: 'POST', headers, body })
    return { status: reply.status, body: await reply.json(), listen_port }
  }

  const refused = { status: 422, body: { error: { details: { reason: 'denied_by_agent' } } } }
  for (const port of [api, control, metrics, own])
    for (const host of ['127.0.0.1', '127.9.9.9', '::1', '::ffff:127.0.0.1', '64:ff9b::7f00:1'])
      t.match(await push(host, port), refused, `${host} ${port}`)

  const named = await push('localhost', metrics)
  t.equal(named.status, 201, 'a name is judged when it is dialed')
  await t.rejects(get(`http://127.0.0.1:${named.listen_port}/metrics`))
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
