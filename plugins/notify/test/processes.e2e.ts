// A real server and a real agent as separate processes, with a webhook.
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { sluice } from '../../../test/support/process.ts'
import { startAgent, testCluster, token } from '../../../test/support/test-cluster.ts'
import type { NotificationRow } from '../schema.ts'
import { openReceiver, secret, secretFile } from './fixture.ts'

const channel = (name: string, url: string, file: string): string =>
  `[plugins.notify.channels.${name}]\ntype = "webhook"\nurl = "${url}/secret-path"\nsecret_file = "${file}"\n`

t.test(
  'an agent and then the server are killed: edge_away and edge_back arrive once each',
  { timeout: 240_000 },
  async t => {
    const hook = await openReceiver(t)
    const file = secretFile(t)
    const grace = '[plugins.notify]\ngrace_secs = 1\n'
    const cluster = await testCluster(t, {}, grace + channel('ops', hook.url, file))
    const edge = await startAgent(t, cluster, 'paris')
    const rows = () => cluster.call<NotificationRow[]>('GET', '/v1/notifications')
    const until = async (kind: string): Promise<void> => {
      while (!(await rows()).some(row => row.kind === kind)) await new Promise(setImmediate)
    }
    edge.agent.signal('SIGKILL')
    await edge.agent.exit
    await until('edge_away')
    t.equal(hook.received.length, 0, 'the message is stored, and still open')
    cluster.server.signal('SIGKILL')
    await cluster.server.exit
    await cluster.restart()

    const away = await hook.until(1)
    t.match(JSON.parse(away.text), { type: 'edge_away', data: { count: 1, names: ['paris'] } })
    edge.restart()
    const back = await hook.until(2)
    t.match(JSON.parse(back.text), { type: 'edge_back', data: { count: 1, names: ['paris'] } })
    t.not(away.headers['webhook-id'], back.headers['webhook-id'])
    t.match(
      (await rows()).map(({ kind }) => kind),
      ['edge_back', 'edge_away']
    )
    t.equal(hook.received.length, 2, 'the restart repeated nothing')
    t.notMatch(cluster.server.output(), /secret-path|whsec_/)
  }
)

t.test(
  'SIGHUP takes channels over, and refuses an invalid configuration by its key, as config check does',
  async t => {
    const hook = await openReceiver(t)
    const file = secretFile(t)
    const cluster = await testCluster(t)
    const env = { SVC_SERVER: cluster.origin, SVC_TOKEN: token }
    t.same(await cluster.json('notification', 'channels'), [])

    cluster.configure(channel('ops', hook.url, file))
    cluster.server.signal('SIGHUP')
    await cluster.server.until('server.reloaded')
    t.match(await cluster.json('notification', 'channels'), [{ name: 'ops', type: 'webhook', waiting: 0 }])
    t.match(await cluster.json('notification', 'test', 'ops'), { delivered: true, status: 200 })
    hook.answer(500)
    t.match(await sluice(['notification', 'test', 'ops'], env), {
      code: 1,
      stderr: /^notification_not_delivered: ops: response status 500/
    })
    t.match(await sluice(['notification', 'test', 'nobody'], env), { code: 8, stderr: /^channel_not_found/ })
    t.same(await cluster.json('notification', 'list', '--since', '1h'), [])

    const weak = join(cluster.dir, 'weak')
    writeFileSync(weak, 'short\n', { mode: 0o600 })
    cluster.configure(channel('ops', hook.url, weak))
    cluster.server.signal('SIGHUP')
    const refused = await cluster.server.until('server.reload_refused')
    t.match(
      refused['msg'] ?? JSON.stringify(refused),
      /plugins\.notify\.channels\.ops\.secret_file must hold/
    )

    cluster.configure(`${channel('ops', hook.url, file)}kinds = ["quota", "edge_lost"]\n`)
    cluster.server.signal('SIGHUP')
    const kinds = /plugins\.notify\.channels\.ops\.kinds has edge_lost, which no loaded plugin has/
    await cluster.server.until('server.reload_refused', event => kinds.test(JSON.stringify(event)))
    t.match(
      await sluice(['config', 'check', '--config', cluster.configFile], {
        SVC_DATA_DIR: join(cluster.dir, 'server')
      }),
      {
        code: 78,
        stderr: kinds
      }
    )

    hook.answer(200)
    t.match(await cluster.json('notification', 'test', 'ops'), { delivered: true })
    t.notMatch(cluster.server.output(), new RegExp(`${secret.slice(0, 16)}|secret-path`))
  }
)
