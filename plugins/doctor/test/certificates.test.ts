// Findings about certificates and the endpoint, with real certificates and a real server.
import { execFileSync } from 'node:child_process'
import { X509Certificate } from 'node:crypto'
import { mkdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { testServer } from '../../../kit/test-server.ts'
import { privateDir } from '../../../test/support/private-dir.ts'
import { notOnPostgres } from '../../../test/support/store.ts'
import { openCertificate } from '../../certificate/certificate.ts'
import { makeStoreKey } from '../../certificate/store-key.ts'
import { dayMs, expectFound, freePorts, idsOf, runCheck } from './provoke-findings.ts'

t.test('a certificate for agents that is unpinned, not activated or expired is found', async t => {
  const dir = privateDir(t)
  const { fingerprint } = await openCertificate(dir)
  const end = new X509Certificate(readFileSync(join(dir, 'control.pem'))).validToDate.getTime()
  const findings = (now: number, rows: object[] = []) =>
    runCheck('certificate', {}, { dir, now, query: async <R>() => rows as R[] })

  t.match(await findings(Date.now(), [{ name: 'leaf', value: fingerprint }]), [{ ok: fingerprint }])
  t.same(idsOf(await findings(Date.now(), [{ name: 'leaf', value: 'other' }])), ['certificate.pin'])
  t.same(idsOf(await findings(Date.now(), [{ name: 'next_leaf', value: 'x' }])), ['certificate.waiting'])
  t.same(idsOf(await findings(end + 1)), ['certificate.expired'])
  t.same(idsOf(await findings(end - dayMs)), ['certificate.expires'])
})

t.test('a certificate in the database is read, and a store.key that cannot decrypt it is found', async t => {
  const dir = privateDir(t, { from: {} })
  const { cert, fingerprint } = await openCertificate(join(dir, 'from'))
  const key = makeStoreKey(join(dir, 'from'))
  const row = { name: 'own', certificate: cert, key_id: key.id, sealed_key: '' }
  const findings = (dataDir: string, id = key.id) =>
    runCheck(
      'certificate',
      {},
      {
        dir: dataDir,
        keys: { store_url: 'postgres://sluice@db.example.com/sluice' },
        query: async <R>(table: string) =>
          (table === 'certificate_sealed' ? [{ ...row, key_id: id }] : []) as R[]
      }
    )

  t.match(await findings(join(dir, 'from')), [{ ok: fingerprint }])
  for (const found of [await findings(dir), await findings(join(dir, 'from'), 'another')])
    t.match(found, [{ id: 'certificate.store_key', message: /store\.key/ }])
})

t.test('an API certificate that is unreadable, expired or for another name is found', async t => {
  const dir = privateDir(t)
  const cert = join(dir, 'api.pem')
  const key = join(dir, 'api.key')
  const env = { ...freePorts, SVC_OPERATOR_HTTP_TLS_CERT_PATH: cert, SVC_OPERATOR_HTTP_TLS_KEY_PATH: key }
  const keys = {
    operator_http_tls_cert_path: cert,
    operator_http_listen: '127.0.0.1:1',
    metrics_listen: '[::1]:2'
  }
  t.same(idsOf(await runCheck('api', {}, { keys })), ['api.certificate_unreadable'])
  const name = 'subjectAltName=DNS:api.example'
  const args = [
    '-newkey',
    'ec',
    '-pkeyopt',
    'ec_paramgen_curve:P-256',
    '-nodes',
    '-days',
    '5',
    '-subj',
    '/CN=a'
  ]
  execFileSync('openssl', ['req', '-x509', ...args, '-addext', name, '-keyout', key, '-out', cert], {
    stdio: 'ignore'
  })

  const origin = { SVC_OPERATOR_HTTP_PUBLIC_ORIGIN: 'https://other.example' }
  await expectFound(
    t,
    ['doctor', '--data-dir', join(dir, 'data')],
    { ...env, ...origin },
    {
      'api.certificate_expires': /expires at/,
      'api.certificate_name': /other\.example/
    }
  )
  t.same(idsOf(await runCheck('api', {}, { keys, now: Date.now() + 9 * dayMs })), ['api.certificate_expired'])
})

t.test('an edge with the host name of the API is found', async t => {
  const keys = {
    operator_http_listen: '127.0.0.1:7080',
    operator_http_public_origin: 'https://hub.example:8443'
  }
  const query = async <R>() =>
    [
      { name: 'paris', address: 'Hub.example' },
      { name: 'oslo', address: 'oslo.example' }
    ] as R[]
  const read = (path: string) => (path === '/data/agent/bundle.json' ? '{}' : null)

  t.match(await runCheck('api-host', {}, { keys, query }), [
    { id: 'api.shared_host', message: /^paris: same/ }
  ])
  t.match(await runCheck('api-host', { read }, { keys, dir: '/data' }), [{ id: 'api.shared_host' }])
  t.match(await runCheck('api-host', {}, { keys: { operator_http_listen: '127.0.0.1:7080' } }), [
    { ok: /no edge/ }
  ])
})

t.test(
  'an endpoint that agents cannot use is found',
  { skip: notOnPostgres('it finds store and certificate by a directory') },
  async t => {
    const { server, dir } = await testServer(t)
    const { control } = server.depsOf('clients')
    const loopback = `127.0.0.1:${control.port()}`
    const endpoint = async (advertised_endpoint: string, at = dir) =>
      idsOf(await runCheck('endpoint', {}, { dir: at, isRunning: true, keys: { advertised_endpoint } }))
    const other = join(dir, 'other')
    mkdirSync(other, { mode: 0o700 })
    await openCertificate(other)

    t.same(await endpoint(''), ['endpoint.missing'])
    t.same(await endpoint('gate.example:7443'), ['endpoint.unusable'])
    t.same(await endpoint(loopback), ['endpoint.loopback'])
    t.same(await endpoint(loopback, other), ['endpoint.other_server', 'endpoint.loopback'])
    await server.stop()
    t.same(await endpoint(loopback), ['endpoint.silent', 'endpoint.loopback'])
  }
)
