import { randomBytes, randomInt } from 'node:crypto'
import type { ConnectionOptions } from 'node:tls'
import { isDeepStrictEqual } from 'node:util'
import t from 'tap'
import { parseClientHello } from '../../agent/portable-engine/tcp/client-hello.ts'
import { clientHello, splitIntoRecords } from './client-hellos.ts'

const name = 'one.example.org'
const insecure = 'ALL:@SECLEVEL=0'
const tlsClients: Record<string, ConnectionOptions> = {
  'TLS 1.0': { minVersion: 'TLSv1', maxVersion: 'TLSv1', ciphers: insecure },
  'TLS 1.1': { minVersion: 'TLSv1.1', maxVersion: 'TLSv1.1', ciphers: insecure },
  'TLS 1.2': { minVersion: 'TLSv1.2', maxVersion: 'TLSv1.2' },
  'TLS 1.3': { minVersion: 'TLSv1.3', maxVersion: 'TLSv1.3' },
  'any version': { minVersion: 'TLSv1', ciphers: insecure },
  'few ciphers': { ciphers: 'ECDHE-RSA-AES128-GCM-SHA256' },
  'one ALPN protocol': { ALPNProtocols: ['h2'] },
  'many ALPN protocols': { ALPNProtocols: Array.from({ length: 200 }, (_, i) => `protocol-${i}`) },
  'an unusual curve': { ecdhCurve: 'P-521' },
  'no ticket': { minVersion: 'TLSv1.2', maxVersion: 'TLSv1.2', secureOptions: 1 << 14 }
}

for (const [client, options] of Object.entries(tlsClients)) {
  t.test(
    `the name that a TLS client with ${client} sends is read however the hello is fragmented`,
    async t => {
      const hello = await clientHello({ ...options, servername: name })
      const nameless = await clientHello(options)

      t.same(parseClientHello(hello), { name })
      t.equal(parseClientHello(nameless), 'nameless')
      t.same(parseClientHello(Buffer.concat([hello, randomBytes(100)])), { name }, 'later bytes are ignored')
      for (const size of [1, 2, 3, 5, 64, 255, 256, hello.length]) {
        const records = splitIntoRecords(size, hello)
        t.same(parseClientHello(records), { name }, `records of ${size}`)
        const step = Math.ceil(records.length / 500)
        for (let end = records.length - 1; end >= 0; end -= step)
          if (parseClientHello(records.subarray(0, end)) !== 'incomplete')
            t.fail(`${end} bytes of records of ${size}`)
      }
    }
  )
}

/** Builds a ClientHello from the given parts, with correct lengths. */
function buildHello({ hosts = [[0, name]], extensions, tail = '' }: HelloParts): Buffer {
  const entries = hosts.map(([type, host]) =>
    Buffer.concat([Buffer.of(type), vector(2, Buffer.from(host, 'latin1'))])
  )
  const serverName = extension(0, vector(2, Buffer.concat(entries)))
  const body = Buffer.concat([
    Buffer.of(3, 3),
    randomBytes(32),
    vector(1, randomBytes(32)),
    vector(2, Buffer.of(0x13, 1)),
    vector(1, Buffer.of(0)),
    vector(2, Buffer.concat(extensions ?? [extension(16, Buffer.of(0)), serverName])),
    Buffer.from(tail)
  ])
  return record(Buffer.concat([Buffer.of(1), vector(3, body)]))
}
interface HelloParts {
  readonly hosts?: readonly (readonly [type: number, host: string])[]
  readonly extensions?: readonly Buffer[]
  readonly tail?: string
}
const vector = (lengthBytes: number, body: Buffer): Buffer => {
  const length = Buffer.alloc(lengthBytes)
  length.writeUIntBE(body.length, 0, lengthBytes)
  return Buffer.concat([length, body])
}
const extension = (type: number, body: Buffer) => Buffer.concat([Buffer.of(0, type), vector(2, body)])
const record = (body: Buffer, type = 22, version = [3, 1]) =>
  Buffer.concat([Buffer.of(type, ...version), vector(2, body)])

t.test('a name is lower-case without a trailing dot; an invalid name counts as no name', async t => {
  const table: [string, unknown][] = [
    ['One.EXAMPLE.org', { name }],
    ['one.example.org.', { name }],
    ['localhost', { name: 'localhost' }],
    ['_x-1.example', { name: '_x-1.example' }],
    ['xn--bcher-kva.example', { name: 'xn--bcher-kva.example' }],
    ['', 'nameless'],
    ['.', 'nameless'],
    ['one..example.org', 'nameless'],
    ['.example.org', 'nameless'],
    ['*.example.org', 'nameless'],
    ['one.example.org\0.evil.test', 'nameless'],
    ['one example.org', 'nameless'],
    ['b\u00fccher.example', 'nameless']
  ]
  for (const [host, expected] of table)
    t.same(parseClientHello(buildHello({ hosts: [[0, host]] })), expected, JSON.stringify(host))
})

t.test('the host name is found among other entries and other extensions', async t => {
  t.same(
    parseClientHello(
      buildHello({
        hosts: [
          [7, 'other'],
          [0, name]
        ]
      })
    ),
    { name }
  )
  t.equal(parseClientHello(buildHello({ hosts: [[7, 'other']] })), 'nameless')
  t.equal(parseClientHello(buildHello({ hosts: [] })), 'nameless')
  t.equal(parseClientHello(buildHello({ extensions: [] })), 'nameless')
  const many = Array.from({ length: 500 }, (_, i) => extension((i % 200) + 20, randomBytes(i % 50)))
  const serverName = extension(0, vector(2, Buffer.concat([Buffer.of(0), vector(2, Buffer.from(name))])))
  const large = buildHello({ extensions: [...many, serverName] })
  t.same(parseClientHello(splitIntoRecords(16_384, large)), { name })
  t.same(parseClientHello(splitIntoRecords(1_000, large)), { name })
})

t.test('input that is not a ClientHello is recognized as early as possible', async t => {
  const hello = buildHello({})
  const expectNotTls = (bytes: Buffer, why: string) => t.equal(parseClientHello(bytes), 'not-tls', why)
  expectNotTls(Buffer.from('G'), 'the first letter of an HTTP request')
  expectNotTls(Buffer.of(22, 2), 'SSL 2')
  expectNotTls(Buffer.of(22, 3, 9), 'no such version')
  expectNotTls(Buffer.of(22, 3, 1, 0, 0), 'an empty record')
  expectNotTls(Buffer.of(22, 3, 1, 0x40, 1), 'a record that is too long')
  expectNotTls(Buffer.of(22, 3, 1, 0, 9, 2), 'a server hello')
  expectNotTls(Buffer.of(22, 3, 1, 0, 9, 1, 1, 0, 0), 'a hello longer than 64 KiB')
  expectNotTls(
    Buffer.concat([splitIntoRecords(50, hello).subarray(0, 55), record(Buffer.of(1, 0), 21)]),
    'an alert in it'
  )
  expectNotTls(buildHello({ tail: 'more' }), 'bytes after its extensions')
  expectNotTls(buildHello({ extensions: [Buffer.of(0, 0, 0)] }), 'half an extension')
  expectNotTls(
    buildHello({ extensions: [extension(0, Buffer.of(0, 9, 0, 0, 1))] }),
    'a list that is longer than its extension'
  )
  expectNotTls(
    buildHello({ extensions: [extension(0, Buffer.of(0, 4, 0, 0, 9, 97))] }),
    'a name that is longer than its list'
  )
  expectNotTls(record(Buffer.of(1, 0, 0, 2, 3, 3)), 'a hello without anything')
  t.equal(parseClientHello(Buffer.alloc(0)), 'incomplete')
  const old = hello.subarray(0, 5 + 4 + 2 + 32 + 33 + 4 + 2) // TLS 1.0 allows hellos without extensions
  old.writeUInt16BE(old.length - 5, 3)
  old.writeUIntBE(old.length - 9, 6, 3)
  t.equal(parseClientHello(old), 'nameless')
})

t.test('any bytes give a result, and further bytes change only the result incomplete', async t => {
  const hellos = [
    buildHello({}),
    await clientHello({ servername: name }),
    splitIntoRecords(9, buildHello({}))
  ]
  for (let round = 0; round < 20_000; round++) {
    const bytes = Buffer.from(hellos[round % hellos.length] ?? '')
    for (let i = randomInt(4); i >= 0; i--) bytes[randomInt(bytes.length)] = randomInt(256)
    const cut = bytes.subarray(0, randomInt(bytes.length))
    const early = parseClientHello(cut)
    const late = parseClientHello(bytes)
    if (early !== 'incomplete' && !isDeepStrictEqual(late, early)) t.fail(bytes.toString('hex'))
    if (typeof late === 'object' && !/^[\w.-]+$/.test(late.name)) t.fail(bytes.toString('hex'))
  }
  for (let round = 0; round < 5_000; round++) parseClientHello(randomBytes(randomInt(300)))
  t.pass()
})
