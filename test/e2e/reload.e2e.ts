// On SIGHUP a running server applies the settings that can change at run time, and names those that cannot.
import { once } from 'node:events'
import { writeFileSync } from 'node:fs'
import { request } from 'node:https'
import { join } from 'node:path'
import { connect, type TLSSocket } from 'node:tls'
import t from 'tap'
import { makeCertificate } from '../../plugins/certificate/make-certificate.ts'
import { type Process, start } from '../support/process.ts'
import { startAgent, testCluster } from '../support/test-cluster.ts'

async function reload(server: Process) {
  const before = server.events.length
  server.signal('SIGHUP')
  const ends = ['server.reloaded', 'server.reload_refused'].map(name =>
    server.until(name, () => true, before)
  )
  const ended = await Promise.race(ends)
  return { ended, events: server.events.slice(before) }
}

t.test('a reload applies limits and log level at once and breaks no connection', async t => {
  const cluster = await testCluster(t, {}, 'max_rules_per_client = 1\n')
  const paris = await startAgent(t, cluster, 'paris')
  const push = (port: number) =>
    cluster.call('POST', '/v1/rules', {
      client: 'paris',
      listen_port: port,
      targets: [{ host: '127.0.0.1', port: 9 }]
    })
  await push(18_001)
  await t.rejects(push(18_002), /limit_reached/)

  cluster.configure('max_rules_per_client = 2\nenrollment_ttl_secs = 60\nrange_rule_max_ports = 2\n')
  const { ended } = await reload(cluster.server)

  t.same([...(ended['changed'] as string[])].sort(), [
    'enrollment_ttl_secs',
    'max_rules_per_client',
    'range_rule_max_ports'
  ])
  await push(18_002)
  const code = await cluster.call<{ expires_at: string }>('POST', '/v1/client-enrollments', { name: 'x' })
  t.ok(Date.parse(code.expires_at) - Date.now() < 61_000)
  t.equal(paris.agent.count('control.disconnected'), 0)
})

t.test('a reload raises and lowers the log level', async t => {
  const cluster = await testCluster(t)
  cluster.configure('log_level = "warn"\ndrain_timeout_secs = 5\n')
  cluster.server.signal('SIGHUP')
  await cluster.server.until('server.restart_needed')
  cluster.configure('')

  t.match((await reload(cluster.server)).ended, { changed: ['log_level'] })
  t.equal(cluster.server.count('server.reloaded'), 1, 'the new level suppresses the line of the first reload')
})

t.test('a setting that needs a restart stays unchanged and is named at every reload', async t => {
  const cluster = await testCluster(t)
  cluster.configure('drain_timeout_secs = 5\nenrollment_ttl_secs = 60\n[plugins.doctor]\nenabled = false\n')

  for (const changed of [['enrollment_ttl_secs'], []]) {
    const { ended, events } = await reload(cluster.server)
    t.match(ended, { event: 'server.reloaded', changed })
    t.match(events, [{ event: 'server.restart_needed', keys: ['drain_timeout_secs', 'plugins.doctor'] }, {}])
  }
  t.equal((await fetch(`${cluster.origin}/v1/openapi.json`)).status, 200)
})

t.test('an invalid configuration changes nothing', async t => {
  const cluster = await testCluster(t)
  cluster.configure('enrollment_ttl_secs = 60\nlog_levle = "warn"\n')

  const { ended } = await reload(cluster.server)

  t.match(ended, {
    event: 'server.reload_refused',
    msg: /nothing was changed: .*:2: unknown key log_levle; did you mean log_level/
  })
  cluster.configure('enrollment_ttl_secs = 60\n')
  t.match((await reload(cluster.server)).ended, { changed: ['enrollment_ttl_secs'] })
})

t.test(
  'new connections get a renewed API certificate; a certificate that does not match its key is refused',
  async t => {
    const dir = t.testdir({})
    const cert = join(dir, 'api.pem')
    const key = join(dir, 'api.key')
    const renew = async () => {
      const made = await makeCertificate([])
      writeFileSync(cert, made.cert)
      writeFileSync(key, made.key, { mode: 0o600 })
    }
    await renew()
    const server = start(t, ['server', '--data-dir', join(dir, 'data')], {
      SVC_OPERATOR_HTTP_TLS_CERT_PATH: cert,
      SVC_OPERATOR_HTTP_TLS_KEY_PATH: key,
      SVC_OPERATOR_HTTP_LISTEN: '127.0.0.1:0',
      SVC_CONTROL_LISTEN: '127.0.0.1:0',
      SVC_METRICS_LISTEN: '127.0.0.1:0'
    })
    const { origin } = await server.until('server.started')
    const { port } = new URL(String(origin))
    const fingerprint = async () => {
      const socket = connect({ host: '127.0.0.1', port: Number(port), rejectUnauthorized: false })
      await once(socket, 'secureConnect')
      const { fingerprint256 } = socket.getPeerCertificate()
      socket.destroy()
      return fingerprint256
    }
    const open = connect({ host: '127.0.0.1', port: Number(port), rejectUnauthorized: false })
    t.teardown(() => open.destroy())
    await once(open, 'secureConnect')
    const first = await fingerprint()

    await renew()
    t.match((await reload(server)).ended, { event: 'server.reloaded', certificate_until: /^20\d\d-/ })
    const second = await fingerprint()
    t.not(second, first)
    t.equal(await statusOn(open), 200, 'the old connection continues')
    const { port: metrics } = await server.until('metrics.listening')
    t.match(await (await fetch(`http://127.0.0.1:${metrics}/metrics`)).text(), /certificate="api"\} \d{10}\n/)

    writeFileSync(cert, (await makeCertificate([])).cert)
    t.match((await reload(server)).ended, {
      event: 'server.reload_refused',
      msg: /must be the PEM certificate of the operator API and its key/
    })
    t.equal(await fingerprint(), second)
  }
)

async function statusOn(socket: TLSSocket): Promise<number | undefined> {
  const sent = request({ createConnection: () => socket, path: '/livez', headers: { host: 'localhost' } })
  const [response] = await Promise.all([once(sent, 'response'), sent.end()])
  return response[0].statusCode
}
