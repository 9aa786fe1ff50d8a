// The configuration of providers, as a start and a reload judge it.
import { chmodSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import type { Fault } from '../../../kernel/base/errors.ts'
import { checkConfig } from '../provider/provider-config.ts'

const corp = { issuer: 'https://login.example.com/realm', client_id: 'sluice' }
const publicOrigin = { operator_http_public_origin: 'https://sluice.example.com' }

/** Returns the message of the refusal, or ''. */
function problemOf(providers: Readonly<Record<string, object>>, keys: object = publicOrigin): string {
  try {
    checkConfig({ ...keys, providers: providers as never })
    return ''
  } catch (error) {
    const { errorCode, message } = error as Fault
    return `${errorCode.code}: ${message}`
  }
}

t.test('a provider needs the public origin; no provider needs nothing', t => {
  t.equal(problemOf({ corp }), '')
  t.equal(problemOf({}, {}), '')
  t.match(
    problemOf({ corp }, {}),
    /^startup\.config_invalid: plugins\.oidc\.providers\.corp needs the key operator_http_public_origin/
  )
  t.end()
})

t.test('at most 8 providers, with names for addresses', t => {
  const many = (count: number) =>
    Object.fromEntries(Array.from({ length: count }, (_, i) => [`corp-${i}`, corp]))
  t.equal(problemOf(many(8)), '')
  t.match(problemOf(many(9)), /has 9 providers; at most 8/)
  for (const name of ['Corp', '1corp', 'a b', 'x'.repeat(28)])
    t.match(problemOf({ [name]: corp }), /rename it/, name)
  t.end()
})

t.test('an issuer is https, or http on loopback', t => {
  for (const issuer of ['https://a.example', 'http://127.0.0.1:8080', 'http://[::1]', 'http://localhost/x'])
    t.equal(problemOf({ corp: { ...corp, issuer } }), '', issuer)
  for (const issuer of [
    'http://a.example',
    'http://localhost.a.example',
    'ftp://a.example',
    'a.example',
    'https://a.example?x',
    'https://a.example#x',
    'https://user@a.example'
  ])
    t.match(problemOf({ corp: { ...corp, issuer } }), /providers\.corp\.issuer must be a URL/, issuer)
  t.match(problemOf({ corp: { ...corp, scopes: 'profile' } }), /scopes must contain openid/)
  t.end()
})

t.test('the grants of groups must be grants', t => {
  const grant = { client: 'edge', listen_port_start: 8000, listen_port_end: 8999, protocols: ['tcp'] }
  const withGrants = (...grants: object[]) => problemOf({ corp: { ...corp, grants: { 'cn=net': grants } } })
  const exit = { client_id: '*', use: 'exit', protocols: ['tcp'] }
  t.equal(withGrants(grant, { ...grant, targets: ['10.0.0.0/8:443'], note: 'x' }, exit), '')
  t.equal(problemOf({ corp: { ...corp, grants: {} } }), '')
  const at = /^startup\.config_invalid: plugins\.oidc\.providers\.corp\.grants\."cn=net"\.1 is no grant: /
  for (const [more, problem] of [
    [{ listen_port_end: 7000 }, /listen_port_end 7000 is below .*; correct it$/],
    [{ protocols: [] }, /protocols is empty/],
    [{ targets: ['a b'] }, /targets\/0 a b/],
    [{ client_id: '*' }, /give either \/client_id or \/client/],
    [{ listen_port_start: undefined }, /listen_port_start is required/],
    [{ entries: ['x'] }, /only an exit grant has entries/],
    [{ use: 'exit' }, /an exit grant has no listen ports/]
  ] as const) {
    t.match(withGrants(grant, { ...grant, ...more }), at)
    t.match(withGrants(grant, { ...grant, ...more }), problem)
  }
  t.end()
})

t.test('files must fit, and errors have no secret', t => {
  const dir = t.testdir({ secret: 'hunter2\n', empty: '\n', ca: 'no certificate' })
  const file = (name: string) => join(dir, name)
  const withSecret = (name: string) => problemOf({ corp: { ...corp, client_secret_file: file(name) } })
  chmodSync(file('secret'), 0o600)
  chmodSync(file('empty'), 0o600)
  t.equal(withSecret('secret'), '')
  t.match(withSecret('empty'), /client_secret_file names .* its first line is empty/)
  t.match(withSecret('missing'), /client_secret_file cannot be used: ENOENT/)
  writeFileSync(file('open'), 'hunter2', { mode: 0o644 })
  t.match(withSecret('open'), /client_secret_file cannot be used: .*chmod 600/)
  t.notMatch(withSecret('open'), /hunter2/)
  for (const name of ['ca', 'missing'])
    t.match(problemOf({ corp: { ...corp, extra_ca_file: file(name) } }), /extra_ca_file must name a PEM file/)
  t.end()
})
