// A host that was copied with its bundle: two real agents compete for one session.
import { copyFileSync, mkdirSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { start } from '../support/process.ts'
import { startAgent, testCluster } from '../support/test-cluster.ts'

interface Row {
  readonly state: string
  readonly instance_conflict: { readonly remote_addrs: readonly string[] } | null
}

t.test(
  'a copied host and its original stop taking the stream from each other, and operators see it',
  async t => {
    const cluster = await testCluster(t)
    const { clientId, stateDir } = await startAgent(t, cluster, 'paris')
    const copied = join(cluster.dir, 'copy')
    mkdirSync(copied, { mode: 0o700 })
    copyFileSync(join(stateDir, 'bundle.json'), join(copied, 'bundle.json'))

    const copy = start(t, ['agent', 'run', '--state-dir', copied])
    const stopped = copy.exit.then(code => {
      throw new Error(`the copy has exited: ${code}\n${copy.output()}`)
    })
    await Promise.race([cluster.server.until('client.instance_conflict'), stopped])
    const read = () => cluster.call<Row>('GET', `/v1/clients/${clientId}`)
    let row = await read()
    while (row.instance_conflict === null) row = await read()

    t.match(row.instance_conflict.remote_addrs, ['127.0.0.1'])
    const entries = await cluster.call('GET', '/v1/audit?action=client.instance_conflict')
    t.match(entries, [{ actor: '_clients', outcome: 'allow' }])
    t.match((await cluster.cli(['client', 'list'])).stdout, /INSTANCE_CONFLICT/)
  }
)
