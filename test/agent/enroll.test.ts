import { createHash } from 'node:crypto'
import { join } from 'node:path'
import { Readable } from 'node:stream'
import t, { type Test } from 'tap'
import { readBundle, readPending, writePending } from '../../agent/stream/bundle.ts'
import { type Enrollment, enroll, parseEnrollmentUri } from '../../agent/stream/enroll.ts'
import { readUri } from '../../agent/stream/read-uri.ts'
import { systemClock } from '../../kernel/base/clock.ts'
import { Refused } from '../../kernel/wire/message.ts'
import { recordLog } from './recorded-log.ts'
import { deadEndpoint, type ScriptedServer, scriptedServer } from './scripted-server.ts'

const code = 'c'.repeat(43)
const redeemed = {
  client_id: '01J0000000000000000000000A',
  client_name: 'edge',
  server_endpoint: 'edge.example:7443'
}
const hash = (token: string | undefined) =>
  createHash('sha256')
    .update(token ?? '')
    .digest('hex')
const never = new AbortController().signal

const uriOf = ({ endpoint, fingerprint }: Pick<ScriptedServer, 'endpoint' | 'fingerprint'>): string =>
  `svc://${endpoint}/enroll?pin=sha256:${fingerprint}&code=${code}`

const enrollment = (t: Test, server: Pick<ScriptedServer, 'endpoint' | 'fingerprint'>): Enrollment => ({
  uri: uriOf(server),
  bundleFile: join(t.testdir(), 'bundle.json'),
  hello: { agent_version: '2.0.0', protocol_version: 1, instance_id: 'one', state_digest: '' },
  hostName: 'host-1',
  clock: systemClock,
  log: recordLog(),
  signal: never
})

t.test('enrollment writes a bundle, and the server gets only a hash of the token', async t => {
  const server = await scriptedServer(t)
  const given = enrollment(t, server)
  let pendingAtRedeem: unknown
  server.onRedeem = async () => {
    pendingAtRedeem = readPending(given.bundleFile)
    return redeemed
  }

  const bundle = await enroll(given)

  t.match(bundle, { version: 1, ...redeemed, server_cert_sha256: server.fingerprint, token: /^[\w-]{43}$/ })
  t.same(readBundle(given.bundleFile), bundle)
  t.same(server.redeems, [{ code, token_hash: hash(bundle.token), host_name: 'host-1' }])
  t.match(
    pendingAtRedeem,
    { token: bundle.token, server_endpoint: server.endpoint },
    'the token is saved before the request is sent'
  )
  t.equal(readPending(given.bundleFile), null)
})

t.test('a server without the pinned certificate gets no code, and the error names the mismatch', async t => {
  const server = await scriptedServer(t)
  const log = recordLog()
  const pinned = { endpoint: server.endpoint, fingerprint: '00'.repeat(32) }

  await t.rejects(enroll({ ...enrollment(t, pinned), log }), {
    errorCode: { code: 'server_pin_mismatch', exit: 4 },
    message: new RegExp(server.fingerprint)
  })

  t.match(log.lines, [
    {
      event: 'control.tls_pinned_mismatch',
      level: 'error',
      fields: { expected: '00'.repeat(32), got: server.fingerprint }
    }
  ])
  t.same(server.redeems, [])
})

t.test('a request is retried with the same token if its response is lost', async t => {
  const server = await scriptedServer(t)
  const given = enrollment(t, server)
  let calls = 0
  server.onRedeem = async () => {
    if (++calls === 1) throw new Refused('wire.closed', 'the response was lost')
    return redeemed
  }

  const bundle = await enroll(given)

  t.same(
    server.redeems.map(({ token_hash }) => token_hash),
    [hash(bundle.token), hash(bundle.token)]
  )
})

t.test('the next run continues an interrupted one with the pending token', async t => {
  const server = await scriptedServer(t)
  const given = enrollment(t, server)
  const { endpoint: server_endpoint, fingerprint: server_cert_sha256 } = server
  writePending(given.bundleFile, { version: 1, server_endpoint, server_cert_sha256, token: 'token-before' })
  server.onRedeem = async () => redeemed

  t.equal((await enroll(given)).token, 'token-before')
})

t.test('Hello completes an enrollment if an earlier run has redeemed the code', async t => {
  const server = await scriptedServer(t)
  const given = enrollment(t, server)
  const { endpoint: server_endpoint, fingerprint: server_cert_sha256 } = server
  writePending(given.bundleFile, { version: 1, server_endpoint, server_cert_sha256, token: 'token-before' })
  server.onRedeem = async () => {
    throw new Refused('enrollment_expired', 'late')
  }

  const bundle = await enroll(given)

  t.match(server.hellos, [{ token: 'token-before' }])
  t.match(bundle, { token: 'token-before', server_endpoint })
  t.same(readBundle(given.bundleFile), bundle)
})

t.test('an enrolled agent redeems a key with its token, and stays the same client', async t => {
  const server = await scriptedServer(t)
  const given = enrollment(t, server)
  const uri = given.uri.replace(code, `svck_${code}`)
  server.onRedeem = async () => redeemed
  const first = await enroll({ ...given, uri })

  t.same(await enroll({ ...given, uri }), first)

  t.same(
    server.redeems.map(({ token_hash }) => token_hash),
    [hash(first.token), hash(first.token)]
  )
  t.not((await enroll(given)).token, first.token, 'a one-time code replaces the token')
})

t.test('an enrolled agent whose token the server refuses becomes another client by the key', async t => {
  const server = await scriptedServer(t)
  const given = enrollment(t, server)
  const uri = given.uri.replace(code, `svck_${code}`)
  server.onRedeem = async () => redeemed
  const first = await enroll({ ...given, uri })
  server.onRedeem = async ({ token_hash }) => {
    if (token_hash === hash(first.token)) throw new Refused('enrollment_invalid', 'the token was used before')
    return { ...redeemed, client_name: 'edge-2' }
  }

  const second = await enroll({ ...given, uri })

  t.match(second, { client_name: 'edge-2' })
  t.not(second.token, first.token)
  t.same(server.hellos, [], 'the stream of a running agent is not taken over')
})

t.test('a pending token that the server refuses is replaced by a new one', async t => {
  const server = await scriptedServer(t)
  const given = enrollment(t, server)
  const { endpoint: server_endpoint, fingerprint: server_cert_sha256 } = server
  writePending(given.bundleFile, { version: 1, server_endpoint, server_cert_sha256, token: 'token-spent' })
  server.onHello = () => {
    throw new Refused('token_revoked', 'spent')
  }
  server.onRedeem = async ({ token_hash }) => {
    if (token_hash === hash('token-spent')) throw new Refused('enrollment_invalid', 'used before')
    return redeemed
  }

  const bundle = await enroll(given)

  t.not(bundle.token, 'token-spent')
  t.equal(server.redeems.at(-1)?.token_hash, hash(bundle.token))
})

t.test('a pending token for another server is not sent to this one', async t => {
  const server = await scriptedServer(t)
  const given = enrollment(t, server)
  writePending(given.bundleFile, {
    version: 1,
    server_endpoint: 'other.example:7443',
    server_cert_sha256: '00'.repeat(32),
    token: 'token-of-the-other'
  })
  server.onRedeem = async () => redeemed

  t.not((await enroll(given)).token, 'token-of-the-other')
})

t.test('a refusal has the exit code of the error table', async t => {
  const exits = {
    enrollment_invalid: 4,
    enrollment_expired: 4,
    enrollment_used: 4,
    failed_precondition: 6,
    something_new: 1
  }
  const server = await scriptedServer(t)
  for (const [code, exit] of Object.entries(exits)) {
    server.onRedeem = async () => {
      throw new Refused(code, 'because')
    }
    await t.rejects(enroll(enrollment(t, server)), { errorCode: { exit }, message: /because/ }, code)
  }
})

t.test('if a code was already redeemed, the error says that the agent is enrolled', async t => {
  const server = await scriptedServer(t)
  const given = enrollment(t, server)
  server.onRedeem = async () => redeemed
  const { client_name } = await enroll(given)
  server.onRedeem = async () => {
    throw new Refused('enrollment_used', 'the code was redeemed')
  }

  await t.rejects(enroll(given), {
    message: `the code was redeemed; this agent is already enrolled as ${client_name}: run sluice agent run`
  })
})

t.test('a server that is unreachable exits with 69', async t => {
  const { fingerprint } = await scriptedServer(t)
  const dead = { endpoint: await deadEndpoint(), fingerprint }

  await t.rejects(enroll(enrollment(t, dead)), {
    errorCode: { code: 'server_unreachable', exit: 69 },
    message: /127\.0\.0\.1/
  })
})

t.test('an agent enrolls at the first answering endpoint of the URI, and saves all of them', async t => {
  const server = await scriptedServer(t)
  server.onRedeem = async () => redeemed
  const dead = await deadEndpoint()
  const uri = `${uriOf({ ...server, endpoint: dead })}&also=${server.endpoint}`

  const bundle = await enroll({ ...enrollment(t, server), uri })

  t.match(bundle, { ...redeemed, server_endpoints: [dead, server.endpoint] })
  t.equal(server.redeems.length, 1)
})

t.test('an invalid URI is refused with the valid form', async t => {
  const pin = 'AB'.repeat(32)
  t.same(parseEnrollmentUri(` svc://edge.example:7443/enroll?pin=sha256:${pin}&code=xyz\n`), {
    endpoint: 'edge.example:7443',
    others: [],
    pin: pin.toLowerCase(),
    code: 'xyz'
  })
  const bad = [
    '',
    'https://edge.example:7443/enroll',
    'svc://edge.example/enroll?pin=sha256:ab&code=x',
    `svc://edge.example:7443/enroll?pin=sha256:${pin}`,
    `svc://edge.example:7443/enroll?pin=${pin}&code=x`,
    `svc://edge.example:7443/enroll?pin=sha256:${pin}&code=x&also=other.example`
  ]
  for (const uri of bad)
    t.throws(() => parseEnrollmentUri(uri), { errorCode: { exit: 2 }, message: /svc:/ }, uri)
})

t.test('a URI on standard input that never ends is refused', async t => {
  function* endless() {
    for (let read = 0; ; read += 1) {
      if (read > 100) t.bailout('it reads on')
      yield '\0'.repeat(65_536)
    }
  }
  const read = (input: Readable) => readUri('-', { env: {}, input })

  await t.rejects(read(Readable.from(endless())), { errorCode: { exit: 2 }, message: /URI alone/ })
  t.equal(await read(Readable.from(['svc://a:1', '/enroll\n'])), 'svc://a:1/enroll\n')
})
