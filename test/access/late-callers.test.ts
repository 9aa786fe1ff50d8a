// The server checks a caller at the headers of a request, again after the body, and in the transaction of the change.
import { once } from 'node:events'
import { type IncomingMessage, request } from 'node:http'
import { json } from 'node:stream/consumers'
import type { EntityManager } from '@mikro-orm/sql'
import t from 'tap'
import { Credential, User } from '../../kernel/identity/entities.ts'
import { hashOf } from '../../kernel/identity/secret.ts'
import { Password, Session } from '../../plugins/auth/entities.ts'
import { type Deps, origin } from '../../plugins/auth/test/fixture.ts'
import { type AccessFixture, accessFixture } from './access-fixture.ts'
import { rows } from './access-table.ts'
import { callers } from './callers.ts'
import { requestOf } from './requests.ts'

const [superadmin] = callers.filter(({ name }) => name === 'superadmin')
const writes = rows.filter(({ method, access }) => method !== 'GET' && access !== 'public')
const cookie = { cookie: 'svc_session=session-of-root', origin, 'x-svc-csrf': '1' }
const bearer = { authorization: 'Bearer svct_root' }

const storeOf = ({ server }: AccessFixture) => (server.depsOf('auth') as Deps).store

/** Runs `before` once, just before the next transaction. The result resolves when that transaction has ended. */
function atNextChange(access: AccessFixture, before: () => Promise<unknown> = async () => {}): Promise<void> {
  const store = storeOf(access)
  const { change } = store
  return new Promise(resolve => {
    Object.assign(store, {
      async change(work: Parameters<typeof change>[0]) {
        Object.assign(store, { change })
        await before()
        return change(work).finally(resolve)
      }
    })
  })
}

/** Resolves when a request of `root` is accepted, which stores the use of its session or token. */
function atAcceptance(access: AccessFixture): Promise<void> {
  const store = storeOf(access)
  const { change } = store
  const isUsed = (em: EntityManager) =>
    Promise.all([
      em.count(Session, { userId: 'root', lastSeenAt: access.clock.now() }),
      em.count(Credential, { userId: 'root', lastUsedAt: access.clock.now() })
    ]).then(counts => counts.some(count => count > 0))
  return new Promise(resolve => {
    Object.assign(store, {
      async change(work: Parameters<typeof change>[0]) {
        const result = await change(work)
        if (await store.read(isUsed)) {
          Object.assign(store, { change })
          resolve()
        }
        return result
      }
    })
  })
}

const endSession = (access: AccessFixture) =>
  storeOf(access).change(em => em.nativeDelete(Session, { tokenHash: hashOf('session-of-root') }))

interface LateRequest {
  readonly method: string
  readonly path: string
  readonly headers: Readonly<Record<string, string>>
  readonly body: object
}

/** Sends half of the body, calls `meanwhile` once the headers are accepted, and sends the rest. */
async function sendLate(
  access: AccessFixture,
  { method, path, headers, body }: LateRequest,
  meanwhile: () => Promise<unknown>
) {
  await storeOf(access).change(async em => {
    await em.nativeUpdate(Session, { userId: 'root' }, { lastSeenAt: access.clock.now() - 61_000 })
    await em.nativeUpdate(Credential, { userId: 'root' }, { lastUsedAt: null })
  })
  const text = JSON.stringify(body)
  const framing = { 'content-type': 'application/json', 'content-length': text.length, connection: 'close' }
  const accepted = atAcceptance(access)
  const sent = request(`${access.server.origin}${path}`, { method, headers: { ...headers, ...framing } })
  const answered = once(sent, 'response') as Promise<[IncomingMessage]>
  sent.write(text.slice(0, 1))
  await accepted
  await meanwhile()
  sent.end(text.slice(1))
  const [response] = await answered
  return { status: response.statusCode, body: await json(response) }
}

t.test('no mutation is accepted if its session ends while the body is in flight', async t => {
  const access = await accessFixture(t)
  for (const { route, method, path: pattern } of writes) {
    const path = superadmin && (await access.pathOf(pattern, superadmin, 'own', 'fresh'))
    if (path == null) throw new TypeError(`${route} has no path`)
    const { body = {}, before } = requestOf(route, access)
    await before?.(path, access.call)
    const decided = access.decisions.length

    const late = { method, path, headers: cookie, body }
    const reply = await sendLate(access, late, () => endSession(access))

    t.match(reply, { status: 401, body: { error: { code: 'unauthenticated' } } }, route)
    t.match(access.decisions.slice(decided), [{ outcome: 'deny', actor: 'root' }], route)
    await access.restore('root')
  }
})

t.test('a mutation changes nothing if its session ends just before the transaction', async t => {
  const access = await accessFixture(t)
  for (const { route, method, path: pattern } of writes) {
    if (/^\/v1\/(apply-|connections|explain|users\/me\/identities)/.test(pattern)) continue // these are not stored
    const path = superadmin && (await access.pathOf(pattern, superadmin, 'own', 'fresh'))
    if (path == null) throw new TypeError(`${route} has no path`)
    const { body, before } = requestOf(route, access)
    await before?.(path, access.call)
    const decided = access.decisions.length

    void atNextChange(access, () => endSession(access))
    const reply = await access.call(method as 'POST', path, body, { authorization: '', ...cookie })

    t.match(reply, { status: 401, body: { error: { code: 'unauthenticated' } } }, route)
    t.match(access.decisions.slice(decided), [{ outcome: 'deny', actor: 'root' }], route)
    await access.restore('root')
  }
})

const userBody = { user_id: 'late', display_name: 'Late', role: 'superadmin' }
const update = (part: object) => (access: AccessFixture) => access.call('PATCH', '/v1/users/root', part)
const changes = [
  ['was disabled', bearer, update({ disabled: true }), 401, 'user_disabled'],
  ['was deleted', bearer, access => access.call('DELETE', '/v1/users/root'), 401, 'unauthenticated'],
  ['was demoted', bearer, update({ role: 'user' }), 403, 'role_required'],
  ['was demoted, with a session', cookie, update({ role: 'user' }), 403, 'role_required'],
  [
    'lost its token to a rotation',
    bearer,
    ({ call }) => call('POST', '/v1/users/root/credentials/C-ROOT00000000000000000000/rotate'),
    401,
    'unauthenticated'
  ],
  [
    'must change its password',
    cookie,
    access =>
      storeOf(access).change(em => em.nativeUpdate(Password, { userId: 'root' }, { changeRequired: true })),
    403,
    'password_change_required'
  ]
] as const satisfies readonly (readonly [
  string,
  Readonly<Record<string, string>>,
  (access: AccessFixture) => Promise<unknown>,
  number,
  string
])[]

t.test('a truncated body from a superadmin creates no user', async t => {
  const access = await accessFixture(t)
  await access.call('POST', '/v1/users', { user_id: 'other', display_name: 'Other', role: 'superadmin' })
  for (const [title, headers, meanwhile, status, code] of changes) {
    const late = { method: 'POST', path: '/v1/users', headers, body: userBody }

    const reply = await sendLate(access, late, () => meanwhile(access))

    t.match(reply, { status, body: { error: { code } } }, `a superadmin who ${title}`)
    t.equal(await storeOf(access).read(em => em.count(User, { id: 'late' })), 0)
    await access.restore('root')
  }
})

t.test(
  'a superadmin who is demoted just before the transaction cannot create a rule without a grant',
  async t => {
    const access = await accessFixture(t)
    const body = { client: access.hidden, listen_port: 9000, targets: [{ host: '10.0.0.1', port: 80 }] }

    void atNextChange(access, () =>
      storeOf(access).change(em => em.nativeUpdate(User, { id: 'root' }, { role: 'user' }))
    )
    const reply = await access.call('POST', '/v1/rules', body, bearer)

    t.match(reply, { status: 403, body: { error: { code: 'role_required' } } })
  }
)
