// The server certificate in real processes: show, reissue, announcement to the agents, activation.
import { readFileSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { openCertificate } from '../../plugins/certificate/certificate.ts'
import { sluice } from '../support/process.ts'
import { startAgent, type TestCluster, testCluster } from '../support/test-cluster.ts'

const bundleOf = (stateDir: string) => JSON.parse(readFileSync(join(stateDir, 'bundle.json'), 'utf8'))
const cert = (cluster: TestCluster, ...args: string[]) =>
  sluice(['cert', ...args, '--data-dir', join(cluster.dir, 'server'), '--output', 'json'])

async function stop(cluster: TestCluster): Promise<void> {
  cluster.server.signal('SIGTERM')
  await cluster.server.exit
}

t.test(
  'a new certificate is announced to the agents before its activation, which names the clients that do not know it',
  async t => {
    const cluster = await testCluster(t)
    const paris = await startAgent(t, cluster, 'paris')
    const lyon = await startAgent(t, cluster, 'lyon')
    lyon.agent.signal('SIGKILL')
    await lyon.agent.exit

    const shown = await cert(cluster, 'show')
    t.match(JSON.parse(shown.stdout), {
      fingerprint: cluster.fingerprint,
      source: 'self-made',
      enrolled_clients: 2
    })
    t.equal((await cert(cluster, 'reissue', '--san', 'gate.example')).code, 75, 'the server runs')

    await stop(cluster)
    const refused = await cert(cluster, 'reissue', '--san', 'gate.example')
    t.equal(refused.code, 2)
    t.match(refused.stderr, /2 enrolled clients pin .* --rotate/)
    const staged = await cert(cluster, 'reissue', '--san', 'gate.example', '*.edge.example', '--rotate')
    t.equal(staged.code, 0, staged.stderr)
    const { fingerprint: next } = JSON.parse(staged.stdout)

    await cluster.restart()
    await cluster.server.until('certificate.next_pin_confirmed')
    t.match(bundleOf(paris.stateDir), {
      server_cert_sha256: cluster.fingerprint,
      next_server_cert_sha256: next
    })
    t.match(JSON.parse((await cert(cluster, 'show')).stdout), { next, waiting_for: ['lyon'] })

    await stop(cluster)
    const early = await cert(cluster, 'activate')
    t.equal(early.code, 2)
    t.match(early.stderr, /1 clients do not know .*lyon/)
    const activated = await cert(cluster, 'activate', '--force')
    t.equal(activated.code, 0, activated.stderr)
    t.match(JSON.parse(activated.stdout), { fingerprint: next, lost: [{ name: 'lyon' }] })

    await cluster.restart()
    await cluster.server.until('client.connected', ({ client_name }) => client_name === 'paris')
    await cluster.server.until('certificate.next_pin_confirmed', ({ fingerprint }) => fingerprint === '')
    const { server_cert_sha256, next_server_cert_sha256 } = bundleOf(paris.stateDir)
    t.same(
      { server_cert_sha256, next_server_cert_sha256 },
      { server_cert_sha256: next, next_server_cert_sha256: undefined }
    )
    const { names } = JSON.parse((await cert(cluster, 'show')).stdout)
    t.ok(names.includes('DNS:*.edge.example'))
    lyon.restart()
    await lyon.agent.until('control.tls_pinned_mismatch')
  }
)

t.test(
  'the server refuses to start with a certificate that enrolled clients do not pin, until the operator accepts it',
  async t => {
    const cluster = await testCluster(t)
    await startAgent(t, cluster, 'paris')
    await stop(cluster)
    const own = join(cluster.dir, 'server', 'control.pem')
    const { fingerprint } = await openCertificate(cluster.dir)
    cluster.configure(
      `tls_cert_path = "${cluster.dir}/control.pem"\ntls_key_path = "${cluster.dir}/control.pem"\n`
    )

    await t.rejects(cluster.restart(), /startup\.tls_invalid: .*1 enrolled clients pin/)
    cluster.configure('')
    rmSync(own)
    await t.rejects(cluster.restart(), /startup\.tls_invalid/, 'a missing certificate stops it, too')
    cluster.configure(
      `tls_cert_path = "${cluster.dir}/control.pem"\ntls_key_path = "${cluster.dir}/control.pem"\n`
    )

    const args = ['--data-dir', join(cluster.dir, 'server'), '--config', cluster.configFile]
    t.equal((await sluice(['cert', 'activate', ...args])).code, 2)
    const forced = await sluice(['cert', 'activate', '--force', ...args])
    t.equal(forced.code, 0, forced.stderr)
    t.match(forced.stderr, /Enroll again: paris/)
    await cluster.restart()
    t.equal((await cluster.server.until('server.started'))['server_cert_sha256'], fingerprint)
  }
)
