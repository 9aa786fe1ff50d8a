// The server certificate in real processes: shown, reissued, announced to the agents, activated.
import { readFileSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { openCertificate } from '../../plugins/control/certificate.ts'
import { sluice } from '../support/process.ts'
import { edge, type TestCluster, testCluster } from '../support/test-cluster.ts'

const bundleOf = (stateDir: string) => JSON.parse(readFileSync(join(stateDir, 'bundle.json'), 'utf8'))
const cert = (on: TestCluster, ...args: string[]) =>
  sluice(['cert', ...args, '--data-dir', join(on.dir, 'server'), '--output', 'json'])

async function stop(on: TestCluster): Promise<void> {
  on.server.signal('SIGTERM')
  await on.server.exit
}

t.test(
  'a new certificate is announced to the agents first, and activation names the clients that have not seen it',
  async t => {
    const on = await testCluster(t)
    const [paris, lyon] = [await edge(t, on, 'paris'), await edge(t, on, 'lyon')]
    lyon.agent.signal('SIGKILL')
    await lyon.agent.exit

    const shown = await cert(on, 'show')
    t.match(JSON.parse(shown.stdout), {
      fingerprint: on.fingerprint,
      source: 'self-made',
      enrolled_clients: 2
    })
    t.equal((await cert(on, 'reissue', '--san', 'gate.example')).code, 75, 'the server runs')

    await stop(on)
    const refused = await cert(on, 'reissue', '--san', 'gate.example')
    t.equal(refused.code, 2)
    t.match(refused.stderr, /2 enrolled clients pin .* --rotate/)
    const staged = await cert(on, 'reissue', '--san', 'gate.example', '*.edge.example', '--rotate')
    t.equal(staged.code, 0, staged.stderr)
    const { fingerprint: next } = JSON.parse(staged.stdout)

    await on.restart()
    await on.server.until('certificate.next_told')
    t.match(bundleOf(paris.stateDir), {
      server_cert_sha256: on.fingerprint,
      next_server_cert_sha256: next
    })
    t.match(JSON.parse((await cert(on, 'show')).stdout), { next, waiting_for: ['lyon'] })

    await stop(on)
    const early = await cert(on, 'activate')
    t.equal(early.code, 2)
    t.match(early.stderr, /1 clients do not know .*lyon/)
    const activated = await cert(on, 'activate', '--force')
    t.equal(activated.code, 0, activated.stderr)
    t.match(JSON.parse(activated.stdout), { fingerprint: next, lost: [{ name: 'lyon' }] })

    await on.restart()
    await on.server.until('client.connected', ({ client_name }) => client_name === 'paris')
    await on.server.until('certificate.next_told', ({ fingerprint }) => fingerprint === '')
    const { server_cert_sha256, next_server_cert_sha256 } = bundleOf(paris.stateDir)
    t.same(
      { server_cert_sha256, next_server_cert_sha256 },
      { server_cert_sha256: next, next_server_cert_sha256: undefined }
    )
    const { names } = JSON.parse((await cert(on, 'show')).stdout)
    t.ok(names.includes('DNS:*.edge.example'))
    lyon.restart()
    await lyon.agent.until('control.tls_pinned_mismatch')
  }
)

t.test(
  'a certificate that enrolled clients do not pin stops the start until the operator accepts it',
  async t => {
    const on = await testCluster(t)
    await edge(t, on, 'paris')
    await stop(on)
    const own = join(on.dir, 'server', 'control.pem')
    const given = join(on.dir, 'given')
    const { fingerprint } = await openCertificate(on.dir)
    on.configure(`tls_cert_path = "${on.dir}/control.pem"\ntls_key_path = "${on.dir}/control.pem"\n`)

    await t.rejects(on.restart(), /startup\.tls_invalid: .*1 enrolled clients pin/)
    on.configure('')
    rmSync(own)
    await t.rejects(on.restart(), /startup\.tls_invalid/, 'nor does one that is lost')
    on.configure(`tls_cert_path = "${on.dir}/control.pem"\ntls_key_path = "${on.dir}/control.pem"\n`)

    const args = ['--data-dir', join(on.dir, 'server'), '--config', on.configFile]
    t.equal((await sluice(['cert', 'activate', ...args])).code, 2)
    const forced = await sluice(['cert', 'activate', '--force', ...args])
    t.equal(forced.code, 0, forced.stderr)
    t.match(forced.stdout, /To be enrolled again: paris/)
    await on.restart()
    t.equal((await on.server.until('server.started'))['server_cert_sha256'], fingerprint)
    t.ok(given)
  }
)
