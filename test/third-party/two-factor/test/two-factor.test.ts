// Unit: RFC 6238 vectors. Server: enrolment, sign-in with a code or a recovery code, and removal.
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { offerPublicModules } from '../../../../kernel/platform/plugins/import-plugin.ts'
import type { Plugin } from '../../../../kernel/plugin.ts'
import { conform, testServer } from '../../../../kit/public.ts'

offerPublicModules()
const { default: plugin } = (await import('../plugin.ts')) as { default: Plugin } // needs the modules of the line above
const { codeAt, stepOf, toBase32 } = await import('../totp.ts')

const password = 'correct horse battery staple'
const nobody = { authorization: '' }

interface Body {
  readonly secret: string
  readonly recovery_codes: readonly string[]
  readonly error: { readonly code: string; readonly details: { readonly ticket: string } }
}

async function enrolled(t: Test) {
  const server = await testServer(t, { plugins: [plugin] })
  const body = { user_id: 'ann', display_name: 'Ann', role: 'superadmin', initial_password: password }
  t.equal((await server.call('POST', '/v1/users', body)).status, 201)
  const login = () => server.call<Body>('POST', '/v1/auth/login', { user_id: 'ann', password }, nobody)
  const { status, headers } = await login()
  t.equal(status, 200, 'without a factor the password is enough')
  const cookie = String(headers['set-cookie']).split(';', 1)[0] ?? ''
  const ann = { ...nobody, cookie, host: 'sluice.test', origin: 'http://sluice.test', 'x-svc-csrf': '1' }
  const { body: begun } = await server.call<Body>('POST', '/v1/users/me/two-factor', {}, ann)
  const code = () => codeAt(begun.secret, stepOf(server.clock.now()))
  const url = '/v1/users/me/two-factor/confirm'
  t.equal(
    (await server.call<Body>('POST', url, { code: '000000' }, ann)).body.error.code,
    'two_factor_code_wrong'
  )
  const confirmed = await server.call<Body>('POST', url, { code: code() }, ann)
  const answer = async (given: object) => {
    const { body } = await login()
    return server.call<Body>('POST', '/v1/auth/step', { ticket: body.error.details.ticket, ...given }, nobody)
  }
  const { recovery_codes: recovery } = confirmed.body
  return { server, ann, login, code, answer, recovery, secret: begun.secret }
}

t.test('codes equal those of RFC 6238', async t => {
  const secret = toBase32(Buffer.from('12345678901234567890'))
  t.equal(codeAt(secret, stepOf(59_000)), '287082')
  t.equal(codeAt(secret, stepOf(1_111_111_109_000)), '081804')
  t.equal(codeAt(secret, stepOf(20_000_000_000_000)), '353130')
})

t.test('the plugin passes sluice plugin check', async t => {
  t.same((await conform(join(import.meta.dirname, '..'), {})).problems, [])
})

t.test('a sign-in needs a code, which works once', async t => {
  const { server, ann, login, code, answer } = await enrolled(t)
  t.equal((await server.call('GET', '/v1/users/me', undefined, ann)).status, 401, 'older sessions are ended')
  t.match((await login()).body.error, { code: 'step_required', details: { step: 'two-factor' } })
  t.match(await server.call('GET', '/v1/users/ann'), { body: { two_factor: true } })
  t.match(
    await answer({ answer: code() }),
    { body: { error: { code: 'step_failed' } } },
    'it confirmed the factor'
  )

  await server.clock.advance(30_000)
  const used = code()
  t.equal((await answer({ answer: used })).status, 200)
  t.equal((await answer({ answer: used })).status, 401, 'a replay')
  await server.restart()
  await server.clock.advance(30_000)
  t.equal((await answer({ answer: code() })).status, 200)
})

t.test('a recovery code works once, and an administrator can remove the factor', async t => {
  const { server, login, answer, recovery } = await enrolled(t)
  const given = { method: 'recovery_code', answer: recovery[3] }
  t.equal((await answer(given)).status, 200)
  t.equal((await answer(given)).status, 401)
  t.equal((await server.call('DELETE', '/v1/users/ann/two-factor')).status, 204)
  t.equal((await server.call('DELETE', '/v1/users/ann/two-factor')).status, 404)
  t.equal((await login()).status, 200)
})

t.test('secrets are in no reply, log line or audit entry', async t => {
  const { server, secret, recovery } = await enrolled(t)
  const { text } = await server.call('GET', '/v1/audit')
  for (const hidden of [secret, recovery[0] ?? secret]) {
    t.notMatch(text, hidden)
    t.notMatch(JSON.stringify(server.log), hidden)
  }
})
