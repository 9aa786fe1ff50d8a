// Callers that the server has cached from an earlier request. Changes to a caller apply to the next request.
import t, { type Test } from 'tap'
import { Credential, User } from '../../../kernel/identity/entities.ts'
import { recordStatements } from '../../../test/support/record-statements.ts'
import { notOnPostgres } from '../../../test/support/store.ts'
import { Password, Session } from '../entities.ts'
import { addUser, depsOf, type ErrorBody, onboardedServer, root, signedInBrowser } from './fixture.ts'

type Me = ErrorBody & { readonly role: string; readonly display_name: string }

const hourMs = 3_600_000
const me = '/v1/users/me'
const ofAnn = '/v1/users/ann'
const refused = (code: string) => ({
  status: code === 'password_change_required' ? 403 : 401,
  body: { error: { code } }
})

/** A server that knows ann by a token and by the cookie of a session. */
async function knownServer(t: Test, days = 30) {
  const app = await onboardedServer(t)
  await addUser(app, 'ann')
  const issued = await app.call<{ credential_id: string; token: string }>('POST', `${ofAnn}/credentials`, {
    expires_in_secs: days * 24 * 3600
  })
  const { credential_id, token } = issued.body
  const page = await signedInBrowser(app, { ...root, user_id: 'ann' })
  const asToken = (url = me) => app.call<Me>('GET', url, undefined, { authorization: `Bearer ${token}` })
  const asSession = (url = me) => page.call<Me>('GET', url)
  for (const ask of [asToken, asSession, asToken, asSession]) t.equal((await ask()).status, 200)
  return { ...app, app, page, credentialId: credential_id, asToken, asSession }
}

const skip = notOnPostgres('it counts statements of SQLite')

t.test('a known caller is authenticated without a statement', { skip }, async t => {
  const { asToken, asSession } = await knownServer(t)
  const asked = recordStatements(t)

  for (const ask of [asToken, asSession]) t.match(await ask(), { status: 200, body: { user_id: 'ann' } })

  t.same(asked.sql, [])
})

t.test('a revoked token is refused at the next request', async t => {
  const { app, credentialId, asToken, asSession } = await knownServer(t)

  await app.call('DELETE', `${ofAnn}/credentials/${credentialId}`)

  t.match(await asToken(), refused('unauthenticated'))
  t.equal((await asSession()).status, 200)
})

t.test('a rotated token is refused at the next request', async t => {
  const { app, credentialId, asToken } = await knownServer(t)

  t.equal((await app.call('POST', `${ofAnn}/credentials/${credentialId}/rotate`, {})).status, 201)

  t.match(await asToken(), refused('unauthenticated'))
})

t.test('an expired token and an idle session are refused', async t => {
  const { clock, asToken, asSession } = await knownServer(t, 1)

  await clock.advance(8 * hourMs)
  t.match(await asSession(), refused('unauthenticated'))
  t.equal((await asToken()).status, 200)
  await clock.advance(16 * hourMs)
  t.match(await asToken(), refused('unauthenticated'))
})

t.test('an ended session is refused at the next request', async t => {
  const { page, asToken, asSession } = await knownServer(t)

  t.equal((await page.call('POST', '/v1/auth/logout')).status, 204)

  t.match(await asSession(), refused('unauthenticated'))
  t.equal((await asToken()).status, 200)
})

t.test('a disabled user is refused at the next request, and accepted once enabled', async t => {
  const { app, asToken, asSession } = await knownServer(t)

  await app.call('PATCH', ofAnn, { disabled: true })
  t.match(await asToken(), refused('user_disabled'))
  t.match(await asSession(), refused('unauthenticated'))
  await app.call('PATCH', ofAnn, { disabled: false })

  t.equal((await asToken()).status, 200)
})

t.test('a deleted user is refused at the next request', async t => {
  const { app, asToken, asSession } = await knownServer(t)

  await app.call('DELETE', ofAnn)

  for (const ask of [asToken, asSession]) t.match(await ask(), refused('unauthenticated'))
})

t.test('a new role and a new name apply to the next request', async t => {
  const { app, asToken, asSession } = await knownServer(t)
  const all = '/v1/users'
  for (const ask of [asToken, asSession]) t.equal((await ask(all)).status, 403)

  await app.call('PATCH', ofAnn, { role: 'superadmin', display_name: 'Ann' })
  for (const ask of [asToken, asSession]) {
    t.equal((await ask(all)).status, 200)
    t.match((await ask()).body, { role: 'superadmin', display_name: 'Ann' })
  }
  await app.call('PATCH', ofAnn, { role: 'user' })

  for (const ask of [asToken, asSession]) t.equal((await ask(all)).status, 403)
})

t.test('a temporary password limits the next request of a session', async t => {
  const { app, asSession } = await knownServer(t)
  const { store } = depsOf(app)
  const require = (changeRequired: boolean) =>
    store.change(em => em.nativeUpdate(Password, { userId: 'ann' }, { changeRequired }))

  await require(true)
  t.match(await asSession('/v1/users/ann'), refused('password_change_required'))
  await require(false)

  t.equal((await asSession('/v1/users/ann')).status, 200)
})

t.test('a rolled-back change has no effect and evicts no cached caller', async t => {
  const { app, asToken, asSession } = await knownServer(t)
  const undone = depsOf(app).store.change(async em => {
    await em.nativeUpdate(Credential, { userId: 'ann' }, { revokedAt: 1 })
    await em.nativeUpdate(User, { id: 'ann' }, { disabled: true })
    await em.nativeDelete(Session, { userId: 'ann' })
    throw new Error('undone')
  })
  await t.rejects(undone, { message: 'undone' })
  const asked = recordStatements(t)

  for (const ask of [asToken, asSession]) t.equal((await ask()).status, 200)

  t.same(asked.sql, [])
})

t.test('requests see the old state until a change commits', async t => {
  const { app, asToken } = await knownServer(t)
  const [begun, go] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
  const change = depsOf(app).store.change(async em => {
    await em.nativeUpdate(User, { id: 'ann' }, { disabled: true })
    begun.resolve()
    await go.promise
  })
  await begun.promise

  t.equal((await asToken()).status, 200)
  go.resolve()
  await change

  t.match(await asToken(), refused('user_disabled'))
})
