import { hash } from 'argon2'
import t from 'tap'
import { User } from '../../../kernel/identity/entities.ts'
import { notOnPostgres } from '../../../test/support/store.ts'
import { Password } from '../entities.ts'
import {
  addUser,
  cookieOf,
  depsOf,
  type ErrorBody,
  login,
  onboardedServer,
  root,
  signedInBrowser,
  storeBytes
} from './fixture.ts'

const invalid = { status: 401, body: { error: { code: 'invalid_login' } } }
const limited = { status: 429, body: { error: { code: 'rate_limited' } } }

t.test('a login returns whether the password must change, and sets the session cookie', async t => {
  const app = await onboardedServer(t)

  const reply = await login(app)

  t.equal(reply.status, 200)
  t.strictSame(reply.body, {
    password_change_required: false,
    second_factor_enrollment_required: false
  })
  const [pair, ...attributes] = cookieOf(reply).split('; ')
  t.match(pair, /^svc_session=[\w-]{43}$/)
  t.strictSame(attributes.sort(), ['HttpOnly', 'Max-Age=604800', 'Path=/', 'SameSite=Lax', 'Secure'])
})

t.test('a wrong password and an unknown user get the same response', async t => {
  const app = await onboardedServer(t)

  const wrong = await login(app, { password: 'not the right one' })
  const unknown = await login(app, { user_id: 'nobody' })

  t.match(wrong, invalid)
  t.strictSame(unknown.body, wrong.body)
  t.equal(wrong.headers['set-cookie'], undefined)
})

t.test('user_disabled is returned only for the right password', async t => {
  const app = await onboardedServer(t)
  await addUser(app, 'ann')
  await depsOf(app).store.change(em => em.nativeUpdate(User, { id: 'ann' }, { disabled: true }))

  t.match(await login(app, { user_id: 'ann', password: 'not the right one' }), invalid)
  t.match(await login(app, { user_id: 'ann' }), { status: 401, body: { error: { code: 'user_disabled' } } })
})

t.test(
  'the store contains no secret in plain text',
  { skip: notOnPostgres('it reads the file of SQLite') },
  async t => {
    const app = await onboardedServer(t)
    const { cookie } = await signedInBrowser(app)

    const bytes = storeBytes(app.dir)

    t.ok(bytes.includes('$argon2id$'))
    t.notOk(bytes.includes(root.password))
    t.notOk(bytes.includes(cookie.replace('svc_session=', '')))
  }
)

t.test(
  'five wrong passwords lock the caller out; then even the right one is refused, without a hash',
  async t => {
    const app = await onboardedServer(t)
    for (let i = 0; i < 5; i++) t.match(await login(app, { password: 'not the right one' }), invalid)

    const locked = await login(app)

    t.match(locked, { ...limited, headers: { 'retry-after': '60' } })
    t.equal((await login(app, {}, '192.0.2.2')).status, 200, 'from another address')
    await app.clock.advance(60_000)
    t.equal((await login(app)).status, 200)
  }
)

t.test('concurrent wrong passwords do not bypass the lockout', async t => {
  const app = await onboardedServer(t)

  const replies = await Promise.all(
    Array.from({ length: 20 }, () => login(app, { password: 'not the right one' }))
  )

  const wrong = replies.filter(({ status }) => status === 401).length
  t.ok(wrong >= 5 && wrong <= 6, `${wrong} were tried`)
  t.equal(replies.filter(({ status }) => status === 429).length, 20 - wrong)
})

t.test('logins beyond the queue are refused with busy', async t => {
  const app = await onboardedServer(t)
  const { hashPool } = depsOf(app)
  const gate = Promise.withResolvers<void>()
  const running = [hashPool.run(() => gate.promise), hashPool.run(() => gate.promise)]
  let refused = 0
  const loginAndCount = async () => {
    const reply = await login(app)
    if (reply.status === 503 && ++refused === 8) gate.resolve()
    return reply
  }

  const replies = await Promise.all(Array.from({ length: 40 }, loginAndCount))

  await Promise.all(running)
  const busy = replies.filter(({ status }) => status === 503)
  t.equal(busy.length, 8)
  t.match(busy[0], { headers: { 'retry-after': '1' }, body: { error: { code: 'busy' } } })
  t.equal(replies.filter(({ status }) => status === 200).length, 32)
})

t.test('a login renews a hash with weaker parameters', async t => {
  const app = await onboardedServer(t)
  const { store } = depsOf(app)
  const weak = await hash(root.password, { memoryCost: 8192, timeCost: 2, parallelism: 1 })
  await store.change(em => em.nativeUpdate(Password, { userId: 'root' }, { hash: weak }))

  t.equal((await login(app)).status, 200)

  const { hash: renewed } = await store.read(em => em.findOneOrFail(Password, { userId: 'root' }))
  t.match(renewed, /m=19456/)
  t.equal((await login(app)).status, 200)
})

t.test('the audit log records a login with its user', async t => {
  const app = await onboardedServer(t)
  app.decisions.length = 0

  await login(app)
  await login<ErrorBody>(app, { password: 'not the right one' })

  t.match(app.decisions, [
    { action: 'auth.login', outcome: 'allow', status: 200, resourceKind: 'user', resourceId: 'root' },
    { action: 'auth.login', outcome: 'deny', status: 401, reason: 'invalid_login' }
  ])
})

t.test('X-Forwarded-For from a proxy may contain any text', async t => {
  const app = await onboardedServer(t)

  t.equal((await login(app, {}, 'unknown, not an address at all, and longer than one could be')).status, 200)
  t.match(await login(app, { password: 'not the right one' }, '_hidden'), invalid)
})
