// The settings of the plugin at the start of a server, and its origin.
import { X509Certificate } from 'node:crypto'
import { chmodSync, mkdirSync, readFileSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { testServer } from '../../../kit/test-server.ts'
import { openCertificate } from '../../certificate/certificate.ts'
import { certificateExpiry, type ServedCertificate } from '../server/served-certificate.ts'

/** Makes a certificate and its key, 0600. Returns their paths and a data directory. */
async function certificateFixture(t: Test): Promise<{ cert: string; key: string; data: string }> {
  const dir = t.testdir({ tls: {}, data: {} })
  await openCertificate(join(dir, 'tls'))
  return {
    cert: join(dir, 'tls', 'control.pem'),
    key: join(dir, 'tls', 'control.pem'),
    data: join(dir, 'data')
  }
}

t.test('the origin of a server has its scheme, address and actual port', async t => {
  const plain = await testServer(t, {
    plugins: [],
    dir: t.testdir(),
    keys: { operator_http_listen: '[::1]:0' }
  })
  t.match(plain.server.origin, /^http:\/\/\[::1\]:\d+$/)
  await plain.stop()
  const { cert, key, data } = await certificateFixture(t)

  const { server } = await testServer(t, {
    plugins: [],
    dir: data,
    keys: { operator_http_tls_cert_path: cert, operator_http_tls_key_path: key }
  })

  t.match(server.origin, /^https:\/\/127\.0\.0\.1:\d+$/)
})

t.test(
  'a certificate without its key, or a key that others may read, stops the start and keeps no lock',
  async t => {
    const { cert, key, data } = await certificateFixture(t)
    const start = (keys: object) => testServer(t, { plugins: [], dir: data, keys: { ...keys } })
    const both = { operator_http_tls_cert_path: cert, operator_http_tls_key_path: key }

    await t.rejects(start({ operator_http_tls_cert_path: cert }), {
      errorCode: { code: 'startup.config_invalid' },
      message: /must be set together/
    })
    await t.rejects(start({ ...both, operator_http_tls_cert_path: `${cert}.none` }), {
      errorCode: { code: 'startup.tls_invalid' },
      message: /must be the PEM certificate of the operator API and its key/
    })
    chmodSync(key, 0o644)
    await t.rejects(start(both), {
      errorCode: { code: 'startup.insecure_permissions' },
      message: /chmod 600/
    })
    chmodSync(key, 0o600)

    t.match((await start(both)).server.origin, /^https:/)
  }
)

t.test('the end of the certificate is known without its files, and a reload replaces it', async t => {
  const { cert, key, data } = await certificateFixture(t)
  const keys = { operator_http_tls_cert_path: cert, operator_http_tls_key_path: key }
  const { server } = await testServer(t, { plugins: [], dir: data, keys })
  const deps = server.depsOf('http') as unknown as { servedCertificate: ServedCertificate }
  const find = () =>
    certificateExpiry(deps.servedCertificate)(
      { from: 0, after: '', to: Number.MAX_SAFE_INTEGER, take: 10 },
      null as never // needs no store
    )
  const objectOf = (file: string) => `certificate ${new X509Certificate(readFileSync(file)).fingerprint256}`
  const first = objectOf(cert)
  rmSync(cert)
  t.match(await find(), [{ object: first, owner: null }])

  const next = join(data, '..', 'next')
  mkdirSync(next)
  await openCertificate(next)
  const pem = join(next, 'control.pem')
  const { config } = server.depsOf('http')
  server.http.renewCertificate?.({
    ...config,
    operator_http_tls_cert_path: pem,
    operator_http_tls_key_path: pem
  })
  t.match(await find(), [{ object: objectOf(pem) }])
  t.not(objectOf(pem), first)
})
