// Loads the plugin by path into real processes, with a receiver.
import { join } from 'node:path'
import t from 'tap'
import { sluice } from '../../../support/process.ts'
import { startAgent, testCluster, token } from '../../../support/test-cluster.ts'
import { openReceiver } from './receiver.ts'

const folder = join(import.meta.dirname, '..')

const endpoint = (name: string, url: string, event: string): string => `
[[plugins."${folder}".endpoints]]
name = "${name}"
url = "${url}"
secret_env = "OPS_HOOK"
events = ["${event}"]
allow_private = true
`

t.test('a connected client is reported, and the command line shows an unreachable endpoint', async t => {
  const hook = await openReceiver(t)
  const config =
    endpoint('ops', hook.url, 'client.connected') +
    endpoint('nobody', 'http://127.0.0.1:9/', 'client.disconnected')
  const cluster = await testCluster(t, { OPS_HOOK: 'a secret that is long enough' }, config)
  const env = { SVC_SERVER: cluster.origin, SVC_TOKEN: token, SVC_CONFIG: cluster.configFile }
  const json = async (...args: string[]): Promise<object> => {
    const { stdout, stderr } = await sluice([...args, '--output', 'json'], env)
    return stdout === '' ? { stderr } : JSON.parse(stdout)
  }

  const { clientId } = await startAgent(t, cluster, 'paris')

  t.match((await hook.until(1)).json, {
    event: 'client.connected',
    data: { client_id: clientId, client_name: 'paris' }
  })
  t.match(await json('webhook', 'test', 'ops'), { delivered: true, status: 200 })
  t.match(await json('webhook', 'test', 'nobody'), { delivered: false, error: /ECONNREFUSED/ })
  t.match(await sluice(['webhook', 'test', 'nobody'], env), {
    code: 1,
    stderr: /^webhook_not_delivered: nobody: /
  })
  t.match(await json('webhook', 'list'), [{ name: 'ops', waiting: 0 }, { name: 'nobody' }])
  t.same(await json('webhook', 'dead', '--endpoint', 'ops'), [])
  t.match(await json('webhook', 'retry', 'x'), { stderr: /dead_letter_not_found/ })
  t.notMatch(cluster.server.output(), /long enough|\/hook/)
})
