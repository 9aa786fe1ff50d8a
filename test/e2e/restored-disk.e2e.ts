// The disk of an edge host is restored from an old backup, with rules that the server has deleted since.
import { once } from 'node:events'
import { chmodSync, cpSync, rmSync } from 'node:fs'
import { createServer } from 'node:net'
import { join } from 'node:path'
import { setTimeout } from 'node:timers/promises'
import Database from 'better-sqlite3'
import t from 'tap'
import { freePort } from '../support/ports.ts'
import { type RunningAgent, startAgent, testCluster } from '../support/test-cluster.ts'
import { get, startWebServer } from '../support/web.ts'

/** Polls until the agent has no rule on its disk. */
async function waitForNoRules({ stateDir }: RunningAgent): Promise<void> {
  const db = new Database(join(stateDir, 'state.db'), { readonly: true })
  const count = db.prepare<[], number>(`select count(*) from managed_object where kind = 'rule'`).pluck()
  try {
    while (count.get()) await setTimeout(20)
  } finally {
    db.close()
  }
}

t.test('a deleted rule from the old disk is dropped even if it cannot be opened', async t => {
  const cluster = await testCluster(t)
  const paris = await startAgent(t, cluster, 'paris')
  const webPort = await startWebServer(t)
  const port = await freePort()
  const body = { client: 'paris', listen_port: port, targets: [{ host: '127.0.0.1', port: webPort }] }
  const stop = async () => {
    paris.agent.signal('SIGTERM')
    await paris.agent.exit
  }
  const startAgain = async () => {
    const before = cluster.server.events.length
    paris.restart()
    await cluster.server.until('client.connected', undefined, before)
  }
  const { rule_id } = await cluster.call<{ rule_id: string }>('POST', '/v1/rules', body)
  await stop()
  const old = join(cluster.dir, 'old')
  cpSync(paris.stateDir, old, { recursive: true })
  await startAgain()
  await cluster.call('DELETE', `/v1/rules/${rule_id}`)
  await stop()

  rmSync(paris.stateDir, { recursive: true })
  cpSync(old, paris.stateDir, { recursive: true })
  chmodSync(paris.stateDir, 0o700)
  const otherProgram = createServer().listen(port)
  await once(otherProgram, 'listening')
  await startAgain()

  t.match(await paris.agent.until('object.not_restored'), { kind: 'rule', id: rule_id, code: 'port_in_use' })
  await waitForNoRules(paris)
  otherProgram.close()
  await once(otherProgram, 'close')
  await cluster.call('POST', '/v1/rules', body)
  t.match(await get(`http://127.0.0.1:${port}/`), /hello/, 'a new rule can use the port')
})
