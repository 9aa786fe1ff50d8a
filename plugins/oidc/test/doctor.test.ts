// The findings of `sluice doctor` about sign-in.
import { chmodSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { sluice } from '../../../test/support/process.ts'
import { thisHost } from '../../doctor/host.ts'
import { signInCheck } from '../doctor-check.ts'
import { settings } from './fixture.ts'
import { scriptedProvider } from './scripted-provider.ts'

interface Given {
  readonly oidc?: object
  readonly policy?: string
  readonly rows?: readonly object[] // of the store
}

const run = ({ oidc = { providers: {} }, policy = 'all', rows = [] }: Given) =>
  signInCheck.run({
    role: 'server',
    dir: '/nowhere',
    keys: {
      operator_http_public_origin: 'https://sluice.example.com',
      password_sign_in: policy,
      plugins: { oidc }
    },
    isRunning: false,
    now: Date.now(),
    host: thisHost,
    query: async <R>() => [...rows] as R[],
    metrics: async () => null
  })

function secretFile(t: Test, mode = 0o600): string {
  const file = join(t.testdir(), 'secret')
  writeFileSync(file, 'secret of the client\n')
  chmodSync(file, mode)
  return file
}

t.test('providers that answer are fine, and none is, too', async t => {
  const { issuer, requests } = await scriptedProvider(t)
  t.same(await run({}), [{ ok: '0 providers answer' }])
  t.same(await run({ oidc: settings(issuer) }), [{ ok: '1 provider answers' }])
  t.same(requests, ['GET /.well-known/openid-configuration'], 'a public client has no secret to judge')
})

t.test('a provider that does not answer is found', async t => {
  const provider = await scriptedProvider(t)
  provider.answers.set('/.well-known/openid-configuration', (_request, response) => void response.destroy())
  t.match(await run({ oidc: settings(provider.issuer) }), [
    { id: 'sign_in.provider_silent', message: /^corp: http:\/\/127\.0\.0\.1:\d+ did not answer/ }
  ])
})

t.test('a secret that the provider refuses is found, and not a code that it refuses', async t => {
  const provider = await scriptedProvider(t)
  const oidc = settings(provider.issuer, { client_secret_file: secretFile(t) })
  const answerWith = (status: number, error: string, headers = {}) =>
    provider.answers.set('/token', (_request, response) => {
      response.writeHead(status, { 'content-type': 'application/json', ...headers })
      response.end(JSON.stringify({ error }))
    })

  answerWith(400, 'invalid_grant')
  t.same(await run({ oidc }), [{ ok: '1 provider answers' }])
  const refused = [{ id: 'sign_in.secret_refused', message: 'corp refuses the client secret' }]
  answerWith(401, 'invalid_client')
  t.same(await run({ oidc }), refused)
  answerWith(401, 'invalid_client', { 'www-authenticate': 'Basic realm="corp"' })
  t.same(await run({ oidc }), refused)
  answerWith(400, 'invalid_client')
  t.same(await run({ oidc }), refused)
})

t.test('a file that cannot be used is found', async t => {
  const { issuer } = await scriptedProvider(t)
  for (const more of [
    { client_secret_file: secretFile(t, 0o644) },
    { client_secret_file: '/nowhere/secret' },
    { extra_ca_file: '/nowhere/ca.pem' }
  ])
    t.match(await run({ oidc: settings(issuer, more) }), [{ id: 'sign_in.file_unusable' }])
})

t.test('a logout at a provider without an address for it is found', async t => {
  const provider = await scriptedProvider(t)
  const oidc = settings(provider.issuer, { logout: 'provider' })
  t.match(await run({ oidc }), [{ id: 'sign_in.no_logout' }])
  provider.metadata = { ...provider.metadata, end_session_endpoint: `${provider.issuer}/logout` }
  t.match(await run({ oidc }), [{ ok: '1 provider answers' }])
})

t.test('a grant for a client that does not exist, or has no name of its own, is found', async t => {
  const { issuer } = await scriptedProvider(t)
  const terms = { listen_port_start: 8000, listen_port_end: 8999, protocols: ['tcp'] }
  const exit = { use: 'exit', protocols: ['tcp'], client_id: '*', entries: ['1', '9'] }
  const oidc = settings(issuer, {
    grants: {
      web: ['edge', 'twin', 'gone'].map(client => ({ ...terms, client })),
      net: [{ ...terms, client_id: '1' }, { ...terms, client_id: '*' }, exit]
    }
  })
  const rows = [
    { id: '1', name: 'edge' },
    { id: '2', name: 'twin' },
    { id: '3', name: 'twin' }
  ]
  t.same(await run({ oidc, rows }), [
    { id: 'sign_in.grant_client_unknown', message: 'corp, group web: twin, gone' },
    { id: 'sign_in.grant_client_unknown', message: 'corp, group net: 9' }
  ])
  const known = [...rows.slice(0, 2), { id: '9', name: 'gone' }]
  t.same(await run({ oidc, rows: known }), [{ ok: '1 provider answers' }])
})

t.test('password_sign_in without an alternative is found', async t => {
  const { issuer } = await scriptedProvider(t)
  const oidc = settings(issuer)
  t.match(await run({ policy: 'superadmins' }), [{ id: 'sign_in.no_alternative' }])
  t.match(await run({ policy: 'superadmins', oidc }), [{ ok: '1 provider answers' }])
  t.match(await run({ policy: 'off', oidc }), [{ id: 'sign_in.locked_out' }])
  const other = [{ provider: 'former' }]
  t.match(await run({ policy: 'off', oidc, rows: other }), [{ id: 'sign_in.locked_out' }])
  t.match(await run({ policy: 'off', oidc, rows: [{ provider: 'corp' }] }), [{ ok: '1 provider answers' }])
})

t.test('the command reports the findings for the providers of the configuration', async t => {
  const dir = t.testdir()
  const config = join(dir, 'server.toml')
  writeFileSync(
    config,
    `operator_http_public_origin = "https://sluice.example.com"
[plugins.oidc.providers.corp]
issuer = "http://127.0.0.1:1"
client_id = "sluice"
`
  )
  const args = ['doctor', '--config', config, '--data-dir', join(dir, 'data'), '--output', 'json']
  const { stdout } = await sluice(args)
  const rows = JSON.parse(stdout) as readonly { readonly check: string }[]
  t.match(
    rows.filter(({ check }) => check === 'sign_in'),
    [{ status: 'fail', id: 'sign_in.provider_silent', message: /^corp: /, remedy: /issuer/ }]
  )
})
