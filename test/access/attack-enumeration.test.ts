// Enumeration: responses do not reveal whether a user or a resource exists.
import t from 'tap'
import { addUser, type ErrorBody, login, onboardedServer } from '../../plugins/auth/test/fixture.ts'
import { accessFixture } from './access-fixture.ts'
import { requestOf } from './requests.ts'
import { canaryOf } from './resources.ts'

t.test('a wrong login gets the same response for known and unknown users', async t => {
  const api = await onboardedServer(t)
  await addUser(api, 'ada')
  await addUser(api, 'dan')
  await api.call('PATCH', '/v1/users/dan', { disabled: true })
  await api.call('POST', '/v1/users', { user_id: 'tokenonly', display_name: 'No password' })
  await api.call('POST', '/v1/users/ada/password', { new_password: 'a temporary password' })
  await api.clock.advance(25 * 3_600_000) // expires the temporary password
  const tries = [
    { user_id: 'root', password: 'wrong wrong wrong' },
    { user_id: 'ada', password: 'a temporary password' },
    { user_id: 'dan', password: 'wrong wrong wrong' },
    { user_id: 'tokenonly', password: 'wrong wrong wrong' },
    { user_id: 'no-one', password: 'wrong wrong wrong' },
    { user_id: '_operator', password: 'wrong wrong wrong' },
    { user_id: "' OR 1=1 --", password: "' OR 1=1 --" },
    { user_id: '', password: '' }
  ]

  const replies = await Promise.all(tries.map(body => login(api, body)))

  t.same(new Set(replies.map(({ status }) => status)), new Set([401]))
  t.equal(new Set(replies.map(({ body }) => JSON.stringify(body))).size, 1)
  t.equal(
    replies.find(({ headers }) => headers['set-cookie']),
    undefined
  )
})

t.test('a lockout gets the same response for known and unknown users', async t => {
  const api = await onboardedServer(t)
  const lock = async (user_id: string) => {
    for (let i = 0; i < 5; i++) await login(api, { user_id, password: 'wrong' }, '192.0.2.7')
    return login(api, { user_id, password: 'wrong' }, '192.0.2.7')
  }

  const known = await lock('root')

  const unknown = await lock('no-one')

  t.equal(known.status, 429)
  t.same(unknown.body, known.body)
  t.equal(unknown.headers['retry-after'], known.headers['retry-after'])
})

t.test('a resource that is hidden from a plain user gets the same response as a missing one', async t => {
  const access = await accessFixture(t)
  const hidden = { id: access.hidden, name: canaryOf('none') }
  const unknownId = '01ARZ3NDEKTSV4RRFFQ69G5FAV'
  const ada = { authorization: 'Bearer svct_ada' }
  const request = (method: 'GET' | 'POST', url: string, body?: object) =>
    access.call<ErrorBody>(method, url, body, ada)
  const push = (client: string) =>
    request('POST', '/v1/rules', { ...requestOf('POST /v1/rules', access).body, client, listen_port: 9 })
  const pairs = [
    [await request('GET', `/v1/clients/${hidden.id}`), await request('GET', '/v1/clients/nonsense')],
    [await push(hidden.id), await push(unknownId)],
    [await push(hidden.name), await push('nonsense')],
    [await request('GET', '/v1/users/root'), await request('GET', '/v1/users/no-one')],
    [
      await request('GET', '/v1/users/root/credentials'),
      await request('GET', '/v1/users/no-one/credentials')
    ],
    [await request('GET', '/v1/rules?owner=root'), await request('GET', '/v1/rules?owner=no-one')],
    [await request('GET', `/v1/rules?client=${hidden.id}`), await request('GET', '/v1/rules?client=nonsense')]
  ] as const
  const sent = [hidden.id, hidden.name, unknownId, 'nonsense', 'root', 'no-one']

  for (const [existing, missing] of pairs) {
    t.equal(existing.status, missing.status)
    t.equal(withoutSentValues(existing.body, sent), withoutSentValues(missing.body, sent))
  }
})

/** Masks values that the caller sent, since they may differ. */
const withoutSentValues = (body: unknown, sent: readonly string[]): string =>
  sent.reduce((text, value) => text.replaceAll(value, '*'), JSON.stringify(body))
