// A third-party plugin that server and agent load by path.
import { once } from 'node:events'
import { connect } from 'node:net'
import { join } from 'node:path'
import t from 'tap'
import { freePort } from '../support/ports.ts'
import { startAgent, testCluster, token } from '../support/test-cluster.ts'
import { startWebServer } from '../support/web.ts'

const withNote = `[plugins."${join(import.meta.dirname, '..', 'third-party', 'note')}"]\n`

t.test('a plugin adds a route, a table, and a rule field that its agent half enforces', async t => {
  const cluster = await testCluster(t, {}, withNote)
  await startAgent(t, cluster, 'paris', { args: ['--config', cluster.configFile] })
  const webPort = await startWebServer(t)
  const port = await freePort()
  const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' }
  const body = {
    client: 'paris',
    listen_port: port,
    targets: [{ host: '127.0.0.1', port: webPort }],
    note_idle_secs: 1
  }

  const reply = await fetch(`${cluster.origin}/v1/rules`, {
    method: 'POST',
    headers,
    body: JSON.stringify(body)
  })

  const rule = (await reply.json()) as { rule_id: string; state: string; note_idle_secs: number }
  t.match(rule, { state: 'active', note_idle_secs: 1 })
  const notes = await (await fetch(`${cluster.origin}/v1/notes`, { headers })).json()
  t.same(notes, [{ rule_id: rule.rule_id, note_idle_secs: 1 }])
  const silent = connect(port, '127.0.0.1')
  await once(silent, 'connect')
  await t.rejects(once(silent, 'close'), { code: 'ECONNRESET' })
})

t.test(
  'a rule fails without the plugin of its field, is never pushed, and returns with the plugin',
  async t => {
    const cluster = await testCluster(t, {}, withNote)
    await startAgent(t, cluster, 'paris', { args: ['--config', cluster.configFile] })
    const port = await freePort()
    const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' }
    const body = {
      client: 'paris',
      listen_port: port,
      targets: [{ host: '127.0.0.1', port: 9 }],
      note_idle_secs: 60
    }
    await fetch(`${cluster.origin}/v1/rules`, { method: 'POST', headers, body: JSON.stringify(body) })
    const state = async () => (await cluster.json<{ state: string }[]>('rule', 'list'))[0]

    cluster.configure('')
    cluster.server.signal('SIGTERM')
    t.equal(await cluster.server.exit, 0)
    await cluster.restart()
    await cluster.server.until('client.connected')
    t.match(await state(), { state: 'failed', state_reason: 'field_not_loaded' })
    await t.rejects(once(connect(port, '127.0.0.1'), 'connect'), { code: 'ECONNREFUSED' })

    cluster.configure(withNote)
    cluster.server.signal('SIGTERM')
    await cluster.server.exit
    await cluster.restart()
    await cluster.server.until('rule.active')
    t.match(await state(), { state: 'active', state_reason: null })
  }
)
