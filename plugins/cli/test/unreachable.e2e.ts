// Errors of commands that cannot reach a server because of TLS, names or ports. The servers are real.

import { once } from 'node:events'
import { readFileSync, statSync, writeFileSync } from 'node:fs'
import { createServer as createPlain } from 'node:http'
import { createServer, type Server } from 'node:https'
import { type AddressInfo, createServer as createTcp, type Server as Tcp } from 'node:net'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { connectFailure } from '../../../kernel/platform/connect-failure.ts'
import { freePort } from '../../../test/support/ports.ts'
import { sluice, start } from '../../../test/support/process.ts'
import { makeCertificate } from '../../certificate/make-certificate.ts'

async function listenOnFreePort(t: Test, server: Server | Tcp): Promise<number> {
  await once(server.listen(0, '0.0.0.0'), 'listening')
  t.teardown(() => server.close())
  return (server.address() as AddressInfo).port
}

const list = (origin: string, env: Readonly<Record<string, string>> = {}) =>
  sluice(['client', 'list'], { SVC_SERVER: origin, SVC_TOKEN: 'x', ...env })

t.test('the error names cause and remedy, and the exit code is 69', async t => {
  const { cert, key } = await makeCertificate(['sluice.test'])
  const tls = await listenOnFreePort(t, createServer({ cert, key }))
  const http = await listenOnFreePort(t, createPlain())
  const mute = await listenOnFreePort(
    t,
    createTcp(socket => socket.destroy())
  )
  const trusted = join(t.testdir({ 'ca.pem': cert }), 'ca.pem')
  const cases: [string, Readonly<Record<string, string>>, RegExp][] = [
    [
      `https://localhost:${tls}`,
      {},
      /self-signed \(DEPTH_ZERO_SELF_SIGNED_CERT\); .*--cacert FILE, SVC_CACERT/
    ],
    [
      `https://127.0.0.2:${tls}`,
      { SVC_CACERT: trusted },
      /altnames.*ERR_TLS_CERT_ALTNAME_INVALID.*names of its certificate/
    ],
    [`https://127.0.0.1:${http}`, {}, /does not speak TLS .*; use http:\/\//],
    [`http://127.0.0.1:${tls}`, {}, /if it speaks TLS, use https:\/\//],
    [`http://127.0.0.1:${mute}`, {}, /socket hang up|ECONNRESET/],
    [
      `http://127.0.0.1:${await freePort()}`,
      {},
      /nothing listens at .* \(ECONNREFUSED\); is the server running/
    ],
    ['https://no-such-host.invalid', {}, /no-such-host\.invalid \((ENOTFOUND|EAI_AGAIN)\); check the name/]
  ]
  for (const [origin, env, expected] of cases) {
    const { code, stderr } = await list(origin, env)
    t.equal(code, 69, stderr)
    t.match(stderr, /^server_unreachable: no server can be reached at http/)
    t.match(stderr, expected)
  }
})

t.test('causes that take long to provoke are also named', async t => {
  const failed = (code: string, more = {}) =>
    connectFailure(Object.assign(new Error('text'), { code, ...more }))

  t.match(failed('CERT_HAS_EXPIRED'), { obstacle: 'expired', cause: /has expired/ })
  t.match(failed('ETIMEDOUT', { address: '2001:db8::1', port: 7080 }), {
    cause: 'nothing answers at [2001:db8::1]:7080 (ETIMEDOUT)'
  })
  t.match(failed('ENOTFOUND', { hostname: 'x.test' }), { cause: 'there is no host x.test (ENOTFOUND)' })
  t.match(connectFailure(new AggregateError([failed('x'), new Error('b')].map(() => new Error('a')))), {
    cause: 'a, a'
  })
  t.same(connectFailure(new Error('odd')), { obstacle: 'not known', cause: 'odd' })
})

t.test('--cacert makes a command trust a self-signed server, and its login remembers that', async t => {
  const dir = t.testdir({})
  const { cert, key } = await makeCertificate([])
  const ca = join(dir, 'ca.pem')
  const keyFile = join(dir, 'key.pem')
  writeFileSync(ca, cert)
  writeFileSync(keyFile, key, { mode: 0o600 })
  const env = {
    SVC_DATA_DIR: join(dir, 'data'),
    SVC_OPERATOR_HTTP_LISTEN: '127.0.0.1:0',
    SVC_OPERATOR_HTTP_TLS_CERT_PATH: ca,
    SVC_OPERATOR_HTTP_TLS_KEY_PATH: keyFile,
    SVC_CONTROL_LISTEN: '127.0.0.1:0',
    SVC_METRICS_LISTEN: '127.0.0.1:0'
  }
  const server = start(t, ['server'], env)
  const { origin } = await server.until('server.started')
  const token = server.events.find(({ event }) => event === 'onboarding.setup_token')?.msg.slice(-43) ?? ''
  const port = new URL(String(origin)).port
  const mine = { SVC_SERVER: `https://localhost:${port}`, XDG_CONFIG_HOME: join(dir, 'profile') }
  const secrets = { SVC_PASSWORD: 'a long enough password', SVC_SETUP_TOKEN: token }

  t.match(await sluice(['setup', 'root'], { ...mine, ...secrets }), { code: 69, stderr: /--cacert/ })
  t.match(await sluice(['setup', 'root', '--cacert', ca], { ...mine, ...secrets }), { code: 0 })
  t.match(await sluice(['client', 'list'], mine), { code: 0, stdout: /none/ }, 'by the login')
  t.match(await sluice(['login', 'root'], { ...mine, ...secrets }), { code: 0 }, 'the next login keeps it')
  t.match(await sluice(['client', 'list'], mine), { code: 0 })
  t.match(await sluice(['logout'], mine), { code: 0 })
  t.match(await list(String(mine.SVC_SERVER)), { code: 69 })
  t.match(await list(String(mine.SVC_SERVER), { NODE_EXTRA_CA_CERTS: ca }), { code: 4 }, 'trusted by Node')
  t.match(await sluice(['client', 'list', '--cacert', '/nowhere.pem'], mine), {
    code: 2,
    stderr: /^usage: --cacert \/nowhere\.pem must be a file with PEM certificates: ENOENT/
  })
  t.match(await list(String(mine.SVC_SERVER), { SVC_CACERT: keyFile }), {
    code: 2,
    stderr: /^usage: SVC_CACERT/
  })
  t.equal(statSync(join(dir, 'profile', 'sluice', 'credentials.json')).mode & 0o777, 0o600)
  t.notMatch(readFileSync(join(dir, 'profile', 'sluice', 'credentials.json'), 'utf8'), /PRIVATE/)
})

t.test('the error of a hostile server cannot manipulate the terminal', async t => {
  const hostile = '\u001b]0;x\u0007\u202e'
  const error = { code: `busy${hostile}`, message: hostile, details: { [hostile]: `a\n${hostile}` } }
  const server = createPlain((_, reply) =>
    reply.writeHead(503, { 'content-type': 'application/json' }).end(JSON.stringify({ error }))
  )
  const origin = `http://127.0.0.1:${await listenOnFreePort(t, server)}`

  const { stderr } = await list(origin)
  t.match(stderr, 'busy\\u001b]0;x\\u0007\\u202e: \\u001b]0;x\\u0007\\u202e')
  const json = await sluice(['client', 'list', '--output', 'json'], { SVC_SERVER: origin, SVC_TOKEN: 'x' })
  t.match(JSON.parse(json.stderr), { error })
  for (const text of [stderr, json.stderr]) t.notMatch(text, /[^\P{C}\n]/u, 'no control character is raw')
})
