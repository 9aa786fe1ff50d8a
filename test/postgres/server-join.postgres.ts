// A server joins a cluster with store_url and a copy of the key file: real processes, and an agent that moves.
import { execFile } from 'node:child_process'
import { existsSync, readFileSync, renameSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import t, { type Test } from 'tap'
import { makeStoreKey } from '../../plugins/certificate/store-key.ts'
import { sluice } from '../support/process.ts'
import { startAgent, testCluster } from '../support/test-cluster.ts'
import { emptyDatabase } from './empty-database.ts'
import { fingerprintOf, keyIn, startAt, stop } from './second-server.ts'

const root = join(import.meta.dirname, '..', '..')

/** Runs the listing of the guide as printed, except for paths and addresses. */
async function playJoin(t: Test, from: string, to: string): Promise<void> {
  const file = 'test/postgres/join.sh'
  const text = readFileSync(join(root, file), 'utf8')
  const guide = readFileSync(join(root, 'docs/OPERATING.md'), 'utf8')
  t.ok(guide.includes(`\`\`\`sh ${file}\n${text}\`\`\``), `${file} is what the guide shows`)
  const own = text.replace('cat /var/lib/sluice', `cat ${from}`).replaceAll('/var/lib/sluice', to)
  const words = 'set -e; systemctl() { :; }; ssh() { shift; "$@"; }\n'
  await promisify(execFile)('bash', ['-c', words + own], { env: { PATH: process.env['PATH'] } })
}

t.test(
  'an agent moves from one server to another that has only store_url and the key file',
  { timeout: 280_000 },
  async t => {
    const { url } = await emptyDatabase(t)
    const cluster = await testCluster(t, { SVC_STORE_URL: url })
    const one = join(cluster.dir, 'server')
    const two = join(cluster.dir, 'two')
    const paris = await startAgent(t, cluster, 'paris')
    const inTwo = (...args: string[]) => sluice([...args, '--data-dir', two], { SVC_STORE_URL: url })
    const staging = ['cert', 'reissue', '--rotate', '--san', 'gate.example']
    t.match(await inTwo('cert', 'activate', '--force'), { code: 75 }, 'a server runs')
    t.match(await inTwo('cert', 'show'), { code: 0, stdout: cluster.fingerprint })
    const missing = await inTwo('server')
    t.match(missing, { code: 78, stderr: `startup.store_key: ${keyIn(two)} is missing` })
    makeStoreKey(two)
    const wrong = await inTwo('server')
    t.match(wrong, { code: 78, stderr: /startup\.store_key: .* of another store/ })
    t.notMatch(wrong.stderr, readFileSync(keyIn(two), 'utf8').trim())
    t.match(await inTwo('doctor'), { code: 1, stdout: /of another store/ })
    t.match(await inTwo('backup', cluster.dir), { code: 2, stderr: /pg_dump .*store\.key/s })
    t.equal(cluster.server.count('client.disconnected'), 0, 'the first agent stays connected')

    await playJoin(t, one, two)
    const beside = await startAt(t, '127.0.0.1:0', two, url)
    t.equal(fingerprintOf(beside), cluster.fingerprint)
    await Promise.all([stop(beside), stop(cluster.server)])
    renameSync(keyIn(two), join(two, 'key'))
    t.match(await inTwo(...staging), { code: 78, stderr: /startup\.store_key/ })
    renameSync(join(two, 'key'), keyIn(two))
    const seen = paris.agent.events.length
    const server = await startAt(t, `127.0.0.1:${cluster.controlPort}`, two, url)
    t.notMatch(server.output(), readFileSync(keyIn(two), 'utf8').trim())
    await paris.agent.until('control.connected', undefined, seen)
    t.notOk(existsSync(join(two, 'control.pem')))
    await stop(server)

    const { stdout } = await inTwo(...staging, '--output', 'json')
    const { fingerprint: next } = JSON.parse(stdout)
    const again = paris.agent.events.length
    await cluster.restart()
    await cluster.server.until('certificate.next_pin_confirmed')
    await paris.agent.until('control.connected', undefined, again)
    await stop(cluster.server)
    t.match(await inTwo('cert', 'activate'), { code: 0, stdout: next })
    const last = paris.agent.events.length
    await cluster.restart()
    t.equal(fingerprintOf(cluster.server), next)
    await paris.agent.until('control.connected', undefined, last)
  }
)
