import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import type { Kernel } from '../../../kernel/plugin.ts'
import { type TestServer, testServer } from '../../../kit/test-server.ts'
import { notOnPostgres } from '../../../test/support/store.ts'
import type { Users } from '../../users/exports.ts'

interface Issued {
  readonly credential_id: string
  readonly token: string
}
interface Row extends Issued {
  readonly label: string
  readonly revoked_at: string | null
  readonly last_used_at: string | null
}
interface Deps extends Kernel {
  readonly users: Users
}
const ofAnn = '/v1/users/ann/credentials'
const refusal = (status: number, code: string) => ({ status, body: { error: { code } } })

async function credentialsServer(t: Test): Promise<TestServer> {
  const app = await testServer(t, { plugins: ['users', 'credentials'] })
  const { store, users } = app.server.depsOf('credentials') as Deps
  await store.change(async em => {
    await users.insert(em, { userId: 'root', displayName: 'Root', role: 'superadmin' })
    for (const userId of ['ann', 'bob']) await users.insert(em, { userId, displayName: userId, role: 'user' })
  })
  return app
}

const issue = (app: TestServer, body: object = {}, userId = 'ann') =>
  app.call<Issued>('POST', `/v1/users/${userId}/credentials`, body)
const bearer = ({ token }: Pick<Issued, 'token'>) => ({ authorization: `Bearer ${token}` })
const statusWith = async (app: TestServer, issued: Pick<Issued, 'token'>): Promise<number> =>
  (await app.call('GET', '/v1/users/me', undefined, bearer(issued))).status
const rows = async (app: TestServer): Promise<Row[]> => (await app.call<Row[]>('GET', ofAnn)).body

t.test('a credential is issued with its token, and listed without it', async t => {
  const app = await credentialsServer(t)

  const { status, body } = await issue(app, { label: 'laptop' })

  t.equal(status, 201)
  t.match(body, {
    credential_id: /^[0-9A-Z]{26}$/,
    user_id: 'ann',
    token: /^svct_[\w-]{43}$/,
    label: 'laptop',
    created_at: '2026-01-15T12:00:00.000Z'
  })
  t.equal(await statusWith(app, body), 200)
  t.strictSame(await rows(app), [
    {
      credential_id: body.credential_id,
      user_id: 'ann',
      label: 'laptop',
      created_at: '2026-01-15T12:00:00.000Z',
      last_used_at: '2026-01-15T12:00:00.000Z',
      last_used_from: '127.0.0.1',
      expires_at: null,
      revoked_at: null,
      scopes: null,
      allowed_sources: null
    }
  ])
})

t.test('the token is stored nowhere', { skip: notOnPostgres('it reads the file of SQLite') }, async t => {
  const app = await credentialsServer(t)
  const { body } = await issue(app)

  const store = readdirSync(app.dir)
    .filter(name => /\.db(-wal)?$/.test(name))
    .map(name => readFileSync(join(app.dir, name), 'latin1'))
    .join('')

  t.ok(store.includes(body.credential_id))
  t.notOk(store.includes(body.token))
})

t.test('a body is optional, and is validated', async t => {
  const app = await credentialsServer(t)

  t.equal((await app.call('POST', ofAnn)).status, 201)
  t.equal((await issue(app, { label: 'é'.repeat(127) })).status, 201)
  for (const body of [
    { label: 'é'.repeat(128) },
    { label: 7 },
    { expires_in_secs: 59 },
    { expires_in_secs: 315_360_001 },
    { expires_in_secs: 60.5 }
  ])
    t.match(await issue(app, body), refusal(400, 'validation.schema'), JSON.stringify(body))
  t.match(await issue(app, { lable: 'x' }), refusal(400, 'validation.unknown_field'))
})

t.test('a credential expires', async t => {
  const app = await credentialsServer(t)
  const { body } = await issue(app, { expires_in_secs: 60 })

  await app.clock.advance(59_999)
  t.equal(await statusWith(app, body), 200)
  await app.clock.advance(1)

  t.equal(await statusWith(app, body), 401)
  t.match(
    await app.call('POST', `${ofAnn}/${body.credential_id}/rotate`),
    refusal(404, 'credential_not_found'),
    'it cannot be rotated'
  )
})

t.test('a clock set back revives no expired token and does not shorten new ones', async t => {
  for (const ms of [-3_600_000, -400 * 24 * 3_600_000, 3_600_000]) {
    const app = await credentialsServer(t)
    const { body: old } = await issue(app, { expires_in_secs: 60 })
    await app.clock.advance(60_000)

    app.clock.step(ms)

    t.equal(await statusWith(app, old), 401, `by ${ms} ms`)
    const { body } = await issue(app, { expires_in_secs: 60 })
    await app.clock.advance(59_999)
    t.equal(await statusWith(app, body), 200)
    await app.clock.advance(1)
    t.equal(await statusWith(app, body), 401)
  }
})

t.test('a clock that was set forward by mistake and right again leaves credentials valid', async t => {
  const app = await credentialsServer(t)
  const { body } = await issue(app, { expires_in_secs: 3600 })

  app.clock.step(24 * 3_600_000)
  t.equal(await statusWith(app, body), 401)
  app.clock.step(-24 * 3_600_000)

  t.equal(await statusWith(app, body), 200)
})

t.test('a revoked credential is refused and stays in the list', async t => {
  const app = await credentialsServer(t)
  const { body } = await issue(app)
  const path = `${ofAnn}/${body.credential_id}`

  t.equal((await app.call('DELETE', path)).status, 204)
  await app.clock.advance(1000)
  t.equal((await app.call('DELETE', path)).status, 204, 'revoking again changes nothing')

  t.equal(await statusWith(app, body), 401)
  t.match(await rows(app), [{ revoked_at: '2026-01-15T12:00:00.000Z' }])
  t.match(await app.call('POST', `${path}/rotate`), refusal(404, 'credential_not_found'))
})

t.test('a rotation gives a new token with the same lifetime, and ends the old one', async t => {
  const app = await credentialsServer(t)
  const { body: before } = await issue(app, { label: 'ci', expires_in_secs: 3600 })
  await app.clock.advance(1_800_000)

  const { status, body: after } = await app.call<Issued>(
    'POST',
    `${ofAnn}/${before.credential_id}/rotate`,
    undefined,
    bearer(before)
  )

  t.equal(status, 201)
  t.match(after, { credential_id: before.credential_id, user_id: 'ann', label: 'ci', token: /^svct_/ })
  t.equal(await statusWith(app, before), 401)
  await app.clock.advance(3_599_999)
  t.equal(await statusWith(app, after), 200)
  await app.clock.advance(1)
  t.equal(await statusWith(app, after), 401)
})

t.test('ownership is checked by the path, before any look-up', async t => {
  const app = await credentialsServer(t)
  const ann = bearer((await issue(app)).body)
  const bobs = (await issue(app, {}, 'bob')).body

  for (const userId of ['bob', 'root', 'nobody', '_operator']) {
    const path = `/v1/users/${userId}/credentials`
    for (const [method, url] of [
      ['GET', path],
      ['POST', path],
      ['DELETE', `${path}/${bobs.credential_id}`],
      ['POST', `${path}/${bobs.credential_id}/rotate`]
    ] as const)
      t.match(await app.call(method, url, undefined, ann), refusal(403, 'not_owner'), `${method} ${url}`)
  }
  t.match(
    await app.call('DELETE', `${ofAnn}/${bobs.credential_id}`, undefined, ann),
    refusal(404, 'credential_not_found')
  )
  t.equal(await statusWith(app, bobs), 200)
})

t.test('a user without the superadmin role can issue, list and revoke its own credentials', async t => {
  const app = await credentialsServer(t)
  const ann = bearer((await issue(app)).body)

  const { body } = await app.call<Issued>('POST', ofAnn, { label: 'own' }, ann)
  t.equal((await app.call<Row[]>('GET', ofAnn, undefined, ann)).body.length, 2)
  t.equal((await app.call('DELETE', `${ofAnn}/${body.credential_id}`, undefined, ann)).status, 204)
})

t.test('an unknown user has no credentials', async t => {
  const app = await credentialsServer(t)
  for (const userId of ['nobody', '_operator', 'me'])
    t.match(await issue(app, {}, userId), refusal(404, 'user_not_found'), userId)
})

t.test('a user has at most 100 active credentials; inactive ones make room', async t => {
  const app = await credentialsServer(t)
  for (let i = 0; i < 100; i++) await issue(app, { label: `n${i}`, ...(i === 0 && { expires_in_secs: 60 }) })

  const full = await issue(app)
  t.match(full, { status: 422, body: { error: { code: 'limit_reached', details: { limit: 100 } } } })
  await app.clock.advance(60_000)
  t.equal((await issue(app)).status, 201)
  t.match(await issue(app), refusal(422, 'limit_reached'))
})

t.test('the list is paged in the order of issue', async t => {
  const app = await credentialsServer(t)
  for (const label of ['a', 'b', 'c']) await issue(app, { label })

  const first = await app.call<Row[]>('GET', `${ofAnn}?limit=2`)
  t.match(first.body, [{ label: 'a' }, { label: 'b' }])
  const [, next = ''] = /<([^>]+)>; rel="next"/.exec(String(first.headers['link'])) ?? []
  const second = await app.call<Row[]>('GET', next)

  t.match(second.body, [{ label: 'c' }])
  t.equal(second.headers['link'], undefined)
})

t.test('changes are recorded with the credential', async t => {
  const app = await credentialsServer(t)
  app.decisions.length = 0

  const { body } = await issue(app)

  t.match(app.decisions, [
    {
      action: 'credential.issue',
      actor: '_operator',
      resourceKind: 'credential',
      resourceId: body.credential_id
    }
  ])
})

t.test("a user's row counts the active credentials", async t => {
  const app = await credentialsServer(t)
  const { body: first } = await issue(app)
  await issue(app, { expires_in_secs: 60 })
  await issue(app)
  const count = async () => (await app.call('GET', '/v1/users/ann')).body
  t.match(await count(), { credential_count: 3 })

  await app.call('DELETE', `${ofAnn}/${first.credential_id}`)
  t.match(await count(), { credential_count: 2 })
  await app.clock.advance(60_000)

  t.match(await count(), { credential_count: 1 })
  t.match((await app.call('GET', '/v1/users/bob')).body, { credential_count: 0 })
})

t.test('the credentials of a deleted user are listed and deleted, also the revoked ones', async t => {
  const app = await credentialsServer(t)
  const { body: first } = await issue(app)
  const { body: second } = await issue(app)
  const { body: other } = await issue(app, {}, 'bob')
  await app.call('DELETE', `${ofAnn}/${first.credential_id}`)

  const { body } = await app.call('DELETE', '/v1/users/ann')

  t.match(body, { removed_credential_ids: [first.credential_id, second.credential_id].sort() })
  t.equal(await statusWith(app, second), 401)
  t.equal(await statusWith(app, other), 200)
})
