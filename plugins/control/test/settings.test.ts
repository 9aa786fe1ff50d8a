// The configuration of the control stream.
import { X509Certificate } from 'node:crypto'
import t from 'tap'
import { wire } from '../../../kernel/kernel.ts'
import { recordLog, testServer } from '../../../kit/test-server.ts'
import { privateDir } from '../../../test/support/private-dir.ts'
import certificate from '../../certificate/plugin.ts'
import http from '../../http/plugin.ts'
import servers from '../../servers/plugin.ts'
import control from '../plugin.ts'

t.test(
  'the endpoint is the configured one, and its host is in the certificate made at the first start',
  async t => {
    const keys = { advertised_endpoint: 'gate.example:7443' }
    const { server } = await testServer(t, { plugins: [], keys })

    t.equal(server.control.configuredEndpoint, 'gate.example:7443')
    t.ok(new X509Certificate(server.control.certificate).checkHost('gate.example'))
  }
)

t.test('an absent or empty endpoint is null', async t => {
  for (const keys of [{}, { advertised_endpoint: '' }]) {
    const { server } = await testServer(t, { plugins: [], keys })

    t.equal(server.control.configuredEndpoint, null)
  }
})

t.test('a certificate without its key stops the start', async t => {
  await t.rejects(testServer(t, { plugins: [], keys: { tls_cert_path: '/control.pem' } }), {
    errorCode: { code: 'startup.tls_invalid' },
    message: /give both, or none/
  })
})

t.test('a server that is wired and not started does not listen', async t => {
  const { control: stream, releases } = await wire({
    plugins: [certificate, servers, control, http],
    keys: { control_listen: '127.0.0.1:0' },
    sections: {},
    dataDir: privateDir(t),
    version: '2.0.0',
    log: recordLog([])
  })
  t.teardown(() => releases.run())

  t.throws(() => stream.port(), /does not listen yet/)
})
