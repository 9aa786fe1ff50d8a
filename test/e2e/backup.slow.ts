// A lost server is restored from its backup into another directory. Forwarding continues throughout.
import { copyFileSync, existsSync, readdirSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { freePort } from '../support/ports.ts'
import { sluice, start } from '../support/process.ts'
import { startAgent, statsOf, type TestCluster, testCluster, token } from '../support/test-cluster.ts'
import { get, startWebServer } from '../support/web.ts'

const dataDir = (cluster: TestCluster): string => join(cluster.dir, 'server')

/** Starts the server again on the same ports, from another directory. */
async function startFrom(t: Test, cluster: TestCluster, dir: string): Promise<void> {
  cluster.server = start(t, ['server', '--data-dir', dir], {
    SVC_OPERATOR_TOKEN: token,
    SVC_OPERATOR_HTTP_LISTEN: cluster.origin.slice('http://'.length),
    SVC_CONTROL_LISTEN: `127.0.0.1:${cluster.controlPort}`,
    SVC_METRICS_LISTEN: '127.0.0.1:0'
  })
  await cluster.server.until('server.started')
}

/** Resolves with the stats once this number of connections, each of `bytesEach`, is counted. */
const statsAfter = (cluster: TestCluster, rule: string, connections: number, bytesEach = 1) =>
  statsOf(
    cluster,
    rule,
    stats => stats.connections_total >= connections && stats.bytes_out >= connections * bytesEach
  )

t.test(
  'after a restore into another directory agents connect, counters continue, changes arrive, and revoked tokens stay revoked',
  { timeout: 240_000 },
  async t => {
    const cluster = await testCluster(t)
    const paris = await startAgent(t, cluster, 'paris')
    const lyon = await startAgent(t, cluster, 'lyon')
    const page = await startWebServer(t)
    const port = await freePort()
    const later = await freePort()
    const url = `http://127.0.0.1:${port}/`
    const push = (listen: number) =>
      cluster.json<{ rule_id: string }>('rule', 'push', 'paris', String(listen), `127.0.0.1:${page}`)
    const { rule_id: rule } = await push(port)
    await get(url)
    const { bytes_out: once } = await statsAfter(cluster, rule, 1)

    const file = join(cluster.dir, 'nightly.backup')
    const backup = await sluice(['backup', file, '--data-dir', dataDir(cluster)])
    t.equal(backup.code, 0, backup.stderr)
    t.equal(statSync(file).mode & 0o777, 0o600)

    await push(later)
    await get(url)
    await statsAfter(cluster, rule, 2, once)
    await cluster.cli(['client', 'revoke', lyon.clientId])
    await lyon.agent.exit
    cluster.server.signal('SIGKILL')
    await cluster.server.exit
    await get(url)
    const dir = join(cluster.dir, 'second')
    const args = ['restore', file, '--data-dir', dir, '--revocations-from', dataDir(cluster)]
    const restored = await sluice(args)
    t.equal(restored.code, 0, restored.stderr)
    t.match(restored.stderr, /revoked clients: lyon/)

    const seen = paris.agent.events.length

    const opened = paris.agent.count('rule.opened')
    await startFrom(t, cluster, dir)
    await paris.agent.until('control.connected', undefined, seen)
    await paris.agent.until('rule.closed')
    await t.rejects(get(`http://127.0.0.1:${later}/`), 'the restored store does not have this rule')
    t.match(await get(url), /hello/)
    const stats = await statsAfter(cluster, rule, 4, once)
    t.equal(stats.connections_total, 4)
    t.equal(stats.bytes_out, 4 * once, 'no byte is lost or counted twice')
    t.match(await cluster.json('client', 'show', lyon.clientId), { state: 'revoked' })
    lyon.restart()
    t.equal(await lyon.agent.exit, 4)

    await push(later)
    t.match(await get(`http://127.0.0.1:${later}/`), /hello/, 'changes reach the agent')
    const closed = paris.agent.events.length
    await cluster.cli(['rule', 'remove', rule])
    await paris.agent.until('rule.closed', undefined, closed)
    await t.rejects(get(url))
    t.equal(paris.agent.count('rule.opened'), opened + 1, 'no rule was reopened')
  }
)

t.test(
  'a backup, restore or start that would overwrite or damage data is refused, and nothing is lost',
  async t => {
    const cluster = await testCluster(t)
    const dir = dataDir(cluster)
    const file = join(cluster.dir, 'a.backup')
    t.equal((await sluice(['backup', file, '--data-dir', dir])).code, 0)
    t.equal((await sluice(['backup', file, '--data-dir', dir])).code, 0, 'a backup may replace an older one')
    t.equal((await sluice(['backup', cluster.dir, '--data-dir', dir])).code, 0)
    t.equal(readdirSync(cluster.dir).filter(name => /^sluice-\d{8}T\d{6}Z\.backup$/.test(name)).length, 1)
    const other = join(cluster.dir, 'other.txt')
    writeFileSync(other, 'x')
    t.equal((await sluice(['backup', other, '--data-dir', dir])).code, 2)
    t.equal((await sluice(['restore', other, '--data-dir', dir])).code, 2)
    t.match(await sluice(['restore', file, '--data-dir', dir]), { code: 75, stderr: /startup\.store_in_use/ })

    await cluster.json('client', 'enroll', 'paris')
    cluster.server.signal('SIGTERM')
    await cluster.server.exit
    const store = join(dir, 'sluice.db')
    copyFileSync(store, join(cluster.dir, 'before.db'))
    const again = await sluice(['restore', file, '--data-dir', dir, '--output', 'json'])
    t.equal(again.code, 0, again.stderr)
    const { set_aside: aside, revoked_since: revoked } = JSON.parse(again.stdout)
    t.ok(existsSync(join(aside, 'sluice.db')), 'the replaced store is kept')
    t.same(revoked, [])
    await cluster.restart()
    t.same(await cluster.json('client', 'list'), [])
    t.equal((await cluster.server.until('server.started'))['server_cert_sha256'], cluster.fingerprint)
  }
)
