// Sessions that are bound to a key, and requests with several session cookies.
import t, { type Test } from 'tap'
import { operatorToken, type Reply, type TestServer } from '../../../kit/test-server.ts'
import {
  addUser,
  cookieOf,
  type ErrorBody,
  login,
  onboardedServer,
  origin,
  root,
  storeBytes,
  unauthenticated
} from './fixture.ts'

type Me = ErrorBody & { readonly user_id: string }

const keyHeader = 'x-svc-session-key'
const key = 'a'.repeat(43)
const otherKey = 'b'.repeat(43)
const refused = { status: 401, body: { error: { code: 'unauthenticated' } } }
const asRoot = { status: 200, body: { user_id: 'root' } }

/** Signs in with the headers and returns the cookie. */
async function signIn(app: TestServer, headers: Record<string, string> = {}, userId = 'root') {
  const reply = await app.call(
    'POST',
    '/v1/auth/login',
    { ...root, user_id: userId },
    { ...unauthenticated, ...headers }
  )
  const [cookie = ''] = cookieOf(reply).split(';')
  return cookie
}

const getMe = (app: TestServer, headers: Record<string, string>): Promise<Reply<Me>> =>
  app.call<Me>('GET', '/v1/users/me', undefined, { ...unauthenticated, ...headers })

const planted = (count: number): string[] =>
  Array.from({ length: count }, (_, i) => `svc_session=${String(i).padStart(43, 'x')}`)

async function boundSession(t: Test) {
  const app = await onboardedServer(t)
  return { app, cookie: await signIn(app, { [keyHeader]: key }) }
}

t.test('a stolen cookie of a session with a key opens nothing', async t => {
  const { app, cookie } = await boundSession(t)

  t.match(await getMe(app, { cookie, [keyHeader]: key }), asRoot)
  t.match(await getMe(app, { cookie }), refused)
  for (const wrong of [otherKey, key.slice(1), '', 'x'.repeat(1000)])
    t.match(await getMe(app, { cookie, [keyHeader]: wrong }), refused, `the key ${wrong.slice(0, 50)}`)
  const write = { cookie, origin, 'x-svc-csrf': '1' }
  t.match(await app.call('POST', '/v1/auth/logout', undefined, { ...unauthenticated, ...write }), refused)
  t.match(await getMe(app, { cookie, [keyHeader]: key }), asRoot, 'the session is still there')
  t.notMatch(storeBytes(app.dir), key, 'the store has only the hash of the key')
})

t.test('a session without a key works by its cookie alone', async t => {
  const app = await onboardedServer(t)
  const cookie = await signIn(app)

  t.match(await getMe(app, { cookie }), asRoot)
})

t.test(
  'a page on another port cannot plant its own session in the console of a user who is signed out',
  async t => {
    const app = await onboardedServer(t)
    const planted = await signIn(app)

    t.match(await getMe(app, { cookie: planted, [keyHeader]: key }), refused)
  }
)

t.test('a malformed key is refused before the password is checked', async t => {
  const app = await onboardedServer(t)
  for (const wrong of ['a'.repeat(21), 'a'.repeat(87), `${'a'.repeat(30)}+`]) {
    const headers = { ...unauthenticated, [keyHeader]: wrong }
    const reply = await app.call<ErrorBody>('POST', '/v1/auth/login', root, headers)
    t.match(reply, {
      status: 400,
      body: { error: { code: 'validation.schema', details: { field: 'X-Svc-Session-Key' } } }
    })
    t.equal(reply.headers['set-cookie'], undefined)
  }
  for (const right of ['a'.repeat(22), `${'Z'.repeat(84)}-_`])
    t.match(
      await getMe(app, { cookie: await signIn(app, { [keyHeader]: right }), [keyHeader]: right }),
      asRoot
    )
})

t.test('logout, password change and the list of sessions find the session among several cookies', async t => {
  const { app, cookie } = await boundSession(t)
  const other = await signIn(app)
  const headers = { ...unauthenticated, cookie: `${planted(1)[0]}; ${other}; ${cookie}`, [keyHeader]: key }
  const write = { ...headers, origin, 'x-svc-csrf': '1' }

  t.match((await app.call('GET', '/v1/users/me/sessions', undefined, headers)).body, [
    { current: true },
    { current: false }
  ])
  const next = 'another long password'
  const body = { current_password: root.password, new_password: next, new_password_confirm: next }
  t.equal((await app.call('POST', '/v1/users/me/password', body, write)).status, 204)
  t.match(await getMe(app, { cookie: other }), refused, 'the other session has ended')
  t.match(await getMe(app, { cookie, [keyHeader]: key }), asRoot)
  t.equal((await app.call('POST', '/v1/auth/logout', undefined, write)).status, 204)
  t.match(await getMe(app, { cookie, [keyHeader]: key }), refused)
})

t.test('planted cookies lock nobody out', async t => {
  const { app, cookie } = await boundSession(t)
  for (const count of [1, 63]) {
    const cookies = [...planted(count), cookie].join('; ')
    t.match(await getMe(app, { cookie: cookies, [keyHeader]: key }), asRoot, `${count} planted first`)
  }

  const refusal = await getMe(app, { cookie: [...planted(64), cookie].join('; '), [keyHeader]: key })

  t.match(refusal, { ...refused, headers: { 'clear-site-data': '"cookies"' } })
  const reply = await login(app)
  t.equal(reply.status, 200, 'the next login works')
  t.equal(reply.headers['clear-site-data'], undefined)
  t.equal((await getMe(app, {})).headers['clear-site-data'], undefined)
})

t.test("a planted cookie of the attacker's own session does not replace the session of the page", async t => {
  const { app, cookie } = await boundSession(t)
  await addUser(app, 'ann')
  const annsCookie = await signIn(app, {}, 'ann')

  t.match(await getMe(app, { cookie: `${annsCookie}; ${cookie}`, [keyHeader]: key }), asRoot)
  t.match(await getMe(app, { cookie: `${annsCookie}; ${await signIn(app)}` }), { body: { user_id: 'ann' } })
})

t.test('another scheme than Bearer is ignored beside a session cookie', async t => {
  const app = await onboardedServer(t)
  const cookie = await signIn(app)
  const basic = 'Basic cm9vdDpyb290'

  t.match(await getMe(app, { authorization: basic, cookie }), asRoot)
  t.match(await getMe(app, { authorization: basic }), refused)
  t.match(await getMe(app, { authorization: 'Bearer', cookie }), refused, 'a malformed bearer token is not')
  t.match(await getMe(app, { authorization: `bearer ${operatorToken}`, cookie }), {
    body: { user_id: '_operator' }
  })
  t.match(await getMe(app, { authorization: `Bearer   ${operatorToken}` }), { status: 200 }, 'RFC 6750: 1*SP')
  const write = { authorization: basic, cookie, origin, 'x-svc-csrf': '1' }
  t.equal((await app.call('POST', '/v1/users/root/credentials', {}, write)).status, 201)
  t.equal(
    (await app.call('POST', '/v1/users/root/credentials', {}, { authorization: basic, cookie })).status,
    403
  )
  t.equal((await app.call('POST', '/v1/auth/logout', undefined, write)).status, 204)
})
