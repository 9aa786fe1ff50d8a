import 'reflect-metadata/lite'
import { SubjectAlternativeNameExtension, X509CertificateGenerator } from '@peculiar/x509'
import t from 'tap'
import { endpointFault } from '../endpoint-fault.ts'

/** Returns a certificate with these names in its SAN. Its subject has another host, which must not count. */
async function certify(names: readonly { type: 'dns' | 'ip'; value: string }[]): Promise<string> {
  const algorithm = { name: 'ECDSA', namedCurve: 'P-256', hash: 'SHA-256' }
  const keys = await crypto.subtle.generateKey(algorithm, true, ['sign', 'verify'])
  const certificate = await X509CertificateGenerator.createSelfSigned({
    name: 'CN=subject.example',
    keys,
    signingAlgorithm: algorithm,
    extensions: [new SubjectAlternativeNameExtension([...names])]
  })
  return certificate.toString('pem')
}

t.test('an endpoint that is not a plain host:port is invalid, whatever the certificate covers', async t => {
  const certificate = await certify([{ type: 'dns', value: 'gate.example' }])

  for (const endpoint of [
    'gate.example',
    'gate.example:',
    ':7443',
    'gate.example:0',
    'gate.example:07443',
    'gate.example:65536',
    'gate.example:123456',
    'gate.example:7443 ',
    ' gate.example:7443',
    'gate.example:7443\n',
    'https://gate.example:7443',
    'gate.example:7443/x',
    'user@gate.example:7443',
    '[::1]:7443',
    '::1:7443',
    'gate.example.:7443',
    'gate_1.example:7443',
    '*.example:7443',
    '.example:7443',
    '10.0.1:7443',
    '10.0.0.256:7443',
    '010.0.0.1:7443',
    `${'a'.repeat(64)}.example:7443`
  ])
    t.equal(
      endpointFault(endpoint, certificate)?.errorCode.code,
      'endpoint_invalid',
      JSON.stringify(endpoint)
    )
})

t.test(
  'a name in the SAN covers a host, an address covers an address, and a wildcard covers one label',
  async t => {
    const certificate = await certify([
      { type: 'dns', value: 'gate.example' },
      { type: 'dns', value: '*.edge.example' },
      { type: 'dns', value: '10.0.0.9' },
      { type: 'ip', value: '10.0.0.7' }
    ])

    for (const endpoint of ['gate.example:7443', 'GATE.example:1', 'a.edge.example:65535', '10.0.0.7:443'])
      t.equal(endpointFault(endpoint, certificate), null, endpoint)
    for (const endpoint of [
      'www.gate.example:7443',
      'edge.example:7443',
      'a.b.edge.example:7443',
      'subject.example:7443',
      '10.0.0.8:443',
      '10.0.0.9:443'
    ])
      t.equal(endpointFault(endpoint, certificate)?.errorCode.code, 'endpoint_not_in_cert_san', endpoint)
  }
)
