// Sources and lifetimes of tokens, and what a token may give to others.
import t from 'tap'
import { Credential } from '../../../kernel/identity/entities.ts'
import { hashOf } from '../../../kernel/identity/secret.ts'
import { newId } from '../../../kernel/platform/id.ts'
import type { Kernel } from '../../../kernel/plugin.ts'
import { headersOf, type LimitsFixture, limitsFixture, refusal } from './limits-fixture.ts'

const dayMs = 86_400_000
const weekSecs = 604_800

t.test('outside its sources a token is unknown to the caller, and the audit log has the reason', async t => {
  const app = await limitsFixture(t)
  const { body } = await app.issue('ann', { allowed_sources: ['192.0.2.0/24', '2001:db8::/32'] })
  const from = (remoteAddress: string, headers = headersOf(body)) =>
    app.call('GET', '/v1/users/me', undefined, headers, { remoteAddress })

  for (const inside of ['192.0.2.1', '::ffff:192.0.2.1', '2001:db8::1'])
    t.equal((await from(inside)).status, 200, inside)
  const unknown = await from('192.0.2.1', { authorization: 'Bearer svct_unknown' })
  for (const outside of ['192.0.3.1', '::ffff:192.0.3.1', '2001:db9::1', '::1']) {
    const reply = await from(outside)
    t.same([reply.status, reply.body], [unknown.status, unknown.body], outside)
    t.match(app.decisions.at(-1), {
      actor: null,
      resourceKind: 'credential',
      resourceId: body.credential_id,
      outcome: 'deny',
      status: 401,
      reason: 'source_not_allowed',
      remoteAddr: outside.replace('::ffff:', '')
    })
  }
  t.match((await app.row('ann', body.credential_id))?.last_used_from, /^192\.0\.2\.1$/, 'a refusal is no use')
})

t.test('a disabled user does not show outside the sources', async t => {
  const app = await limitsFixture(t)
  const as = await app.token('ann', { allowed_sources: ['192.0.2.0/24'] })
  await app.call('PATCH', '/v1/users/ann', { disabled: true })

  t.match(await app.call('GET', '/v1/users/me', undefined, as), refusal(401, 'unauthenticated'))
  t.match(
    await app.call('GET', '/v1/users/me', undefined, as, { remoteAddress: '192.0.2.1' }),
    refusal(401, 'user_disabled')
  )
})

t.test('only a trusted proxy names the address', async t => {
  const app = await limitsFixture(t, { keys: { trusted_proxies: ['127.0.0.1'] } })
  const as = await app.token('ann', { allowed_sources: ['192.0.2.0/24'] })
  const via = (address: string, remoteAddress: string) =>
    app.call('GET', '/v1/users/me', undefined, { ...as, 'x-forwarded-for': address }, { remoteAddress })

  t.equal((await via('192.0.2.1', '127.0.0.1')).status, 200)
  t.equal((await via('198.51.100.1', '127.0.0.1')).status, 401)
  t.equal((await via('192.0.2.1', '198.51.100.1')).status, 401)
})

t.test('sources are 1 to 64 networks', async t => {
  const app = await limitsFixture(t)
  const many = (count: number) => Array.from({ length: count }, (_, i) => `10.0.${i}.0/24`)

  t.equal((await app.issue('ann', { allowed_sources: many(64) })).status, 201)
  for (const wrong of [
    [],
    many(65),
    ['10.0.0.0/33'],
    ['127.1'],
    ['fe80::1%eth0'],
    ['10.0.0.0/8/8'],
    ['office'],
    ['']
  ])
    t.match(
      await app.issue('ann', { allowed_sources: wrong }),
      refusal(400, 'validation.schema'),
      String(wrong)
    )
})

t.test('the last use shows its address, to the minute', async t => {
  const app = await limitsFixture(t)
  const { body } = await app.issue('ann')
  const use = (remoteAddress: string) =>
    app.call('GET', '/v1/users/me', undefined, headersOf(body), { remoteAddress })
  const from = async () => (await app.row('ann', body.credential_id))?.last_used_from

  t.equal(await from(), null)
  await use('192.0.2.1')
  t.equal(await from(), '192.0.2.1')
  await use('192.0.2.2')
  t.equal(await from(), '192.0.2.1')
  await app.clock.advance(60_000)
  await use('2001:db8::2')
  t.equal(await from(), '2001:db8::2')
})

const own = {
  scopes: ['user:read', 'credential:write', 'credential:read'],
  allowed_sources: ['127.0.0.0/8', '10.0.0.0/8'],
  expires_in_secs: weekSecs
}

interface Broader {
  readonly field: 'scopes' | 'allowed_sources' | 'expires_in_secs'
  readonly body: object
}

const broader: readonly Broader[] = [
  { field: 'scopes', body: { ...own, scopes: null } },
  { field: 'scopes', body: { ...own, scopes: undefined } },
  { field: 'scopes', body: { ...own, scopes: ['*:read'] } },
  { field: 'scopes', body: { ...own, scopes: ['user:write'] } },
  { field: 'allowed_sources', body: { ...own, allowed_sources: null } },
  { field: 'allowed_sources', body: { ...own, allowed_sources: ['126.0.0.0/7'] } },
  { field: 'allowed_sources', body: { ...own, allowed_sources: ['127.0.0.1', '192.0.2.0/24'] } },
  { field: 'allowed_sources', body: { ...own, allowed_sources: ['::/0'] } },
  { field: 'expires_in_secs', body: { ...own, expires_in_secs: weekSecs + 1 } },
  { field: 'expires_in_secs', body: { ...own, expires_in_secs: undefined } }
]

const within: readonly object[] = [
  own,
  { ...own, scopes: [] },
  { ...own, scopes: ['user:read'] },
  { ...own, allowed_sources: ['127.0.0.0/8'] },
  { ...own, allowed_sources: ['127.0.0.1', '::ffff:10.1.0.0/112'] },
  { ...own, expires_in_secs: 60 }
]

t.test('a token issues and rotates none that is broader than itself, for whomever', async t => {
  const app = await limitsFixture(t)
  const as = await app.token('root', own)

  for (const userId of ['root', 'bob'])
    for (const { field, body } of broader) {
      const refused = refusal(403, 'credential_too_broad', { field })
      t.match(await app.issue(userId, body, as), refused, `issue ${JSON.stringify(body)}`)
      const { credential_id: id } = (await app.issue(userId, body)).body
      t.match(await app.rotate(userId, id, as), refused, `rotate ${JSON.stringify(body)}`)
    }
  for (const body of within) {
    const issued = await app.issue('bob', body, as)
    t.equal(issued.status, 201, `issue ${JSON.stringify(body)}`)
    t.equal((await app.rotate('bob', issued.body.credential_id, as)).status, 201)
  }
})

t.test('a token with all scopes and no other limit gives everything, and so does a session', async t => {
  const app = await limitsFixture(t)
  const everything = await app.token('root', { scopes: ['*:read', '*:write'] })

  t.equal((await app.issue('bob', {}, everything)).status, 201)
  t.equal((await app.issue('bob', {}, await app.token('root'))).status, 201)
  t.match(
    await app.issue('bob', {}, await app.token('root', { scopes: ['*:write'] })),
    refusal(403, 'credential_too_broad', { field: 'scopes' })
  )
})

t.test('a token rotates itself with its whole lifetime', async t => {
  const app = await limitsFixture(t)
  const { body } = await app.issue('root', own)
  await app.clock.advance(6 * dayMs)

  const rotated = await app.rotate('root', body.credential_id, headersOf(body))

  t.equal(rotated.status, 201)
  t.equal((await app.row('root', body.credential_id))?.expires_at, '2026-01-28T12:00:00.000Z')
  t.equal((await app.call('GET', '/v1/users/me', undefined, headersOf(body))).status, 401)
})

t.test('tokens of viewers only read, and a later role does not widen them', async t => {
  const app = await limitsFixture(t)
  const tooBroad = refusal(403, 'credential_too_broad', { field: 'scopes' })

  const { body } = await app.issue('vic')
  t.match(await app.issue('vic', { scopes: ['user:read', 'rule:write'] }), refusal(400, 'validation.scopes'))
  t.match(await app.issue('vic', { scopes: ['user:read', 'user:write'] }), tooBroad)
  t.equal((await app.issue('vic', { scopes: ['user:read'] })).status, 201)

  t.same((await app.row('vic', body.credential_id))?.scopes, ['*:read'])
  await app.call('PATCH', '/v1/users/vic', { role: 'superadmin' })
  t.equal((await app.call('GET', '/v1/users', undefined, headersOf(body))).status, 200)
  t.match(
    await app.call('PATCH', '/v1/users/ann', { display_name: 'x' }, headersOf(body)),
    refusal(403, 'scope_required', { scope: 'user:write' })
  )
})

t.test('a lifetime above credential_max_secs, or none, is refused before its breadth', async t => {
  const app = await limitsFixture(t, { keys: { credential_max_secs: 3600 } })
  const as = await tokenBefore(app)
  const refused = refusal(422, 'credential_lifetime', { field: 'expires_in_secs', limit: 3600 })

  t.match(await app.issue('ann'), refused)
  t.match(await app.issue('ann', { expires_in_secs: 3601 }), refused)
  t.match(await app.issue('ann', { expires_in_secs: 3601 }, as), refused)
  t.equal((await app.issue('ann', { expires_in_secs: 3600 })).status, 201)
  t.match(await app.issue('ann', { expires_in_secs: 3600 }, as), refusal(403, 'credential_too_broad'))
  t.equal((await app.rotate('root', 'OLD'.padEnd(26, '0'))).status, 201, 'a rotation keeps a longer lifetime')
})

/** A token without expiry, which is older than the limit of the server. */
async function tokenBefore({ server, clock }: LimitsFixture) {
  const { store } = server.depsOf('credentials') as Kernel
  const id = 'OLD'.padEnd(26, '0')
  const row = { id, userId: 'root', label: '', tokenHash: hashOf('svct_old'), createdAt: clock.now() }
  await store.change(em => em.insert(Credential, { ...row, scopes: 'credential:write' }))
  return headersOf({ token: 'svct_old' })
}

t.test('responses to a token name its expiry within the last 14 days, refusals included', async t => {
  const app = await limitsFixture(t)
  const as = await app.token('ann', { expires_in_secs: 15 * 86_400 })
  const headerOf = async (url: string, headers = as) =>
    (await app.call('GET', url, undefined, headers)).headers['x-svc-token-expires']

  t.equal(await headerOf('/v1/users/me'), undefined)
  await app.clock.advance(dayMs)
  t.equal(await headerOf('/v1/users/me'), '2026-01-30T12:00:00.000Z')
  t.equal(await headerOf('/v1/users'), '2026-01-30T12:00:00.000Z', 'a refusal')
  t.equal(await headerOf('/v1/users/me', await app.token('ann')), undefined, 'a token without expiry')
  t.equal(await headerOf('/v1/users/me', { authorization: 'Bearer x' }), undefined)
})

t.test('the log announces an expiry 14 and 3 days before, once, also across restarts', async t => {
  const app = await limitsFixture(t)
  const { body } = await app.issue('ann', { expires_in_secs: 20 * 86_400 })
  await app.issue('ann', { expires_in_secs: 2 * 86_400 })
  const revoked = await app.issue('ann', { expires_in_secs: 20 * 86_400 })
  await app.call('DELETE', `/v1/users/ann/credentials/${revoked.body.credential_id}`)
  const announced = () => app.log.filter(({ event }) => event === 'credential.expires_soon')
  const counts: (readonly [day: number, count: number])[] = []
  let today = 0
  for (const day of [5, 6, 7, 16, 17, 18, 21]) {
    app.clock.step((day - today) * dayMs)
    today = day
    await app.restart()
    counts.push([day, announced().length])
  }

  t.same(
    counts,
    Object.entries({ 5: 0, 6: 1, 7: 1, 16: 1, 17: 2, 18: 2, 21: 2 }).map(([day, n]) => [+day, n])
  )
  const fields = { user: 'ann', credential: body.credential_id, expires_at: '2026-02-04T12:00:00.000Z' }
  t.match(announced(), [
    { level: 'warn', fields },
    { level: 'warn', fields }
  ])
})

t.test(
  'a running server looks for expiries every hour, and a clock that was set back repeats none',
  async t => {
    const app = await limitsFixture(t)
    const announced = () => app.log.filter(({ event }) => event === 'credential.expires_soon').length
    await app.issue('ann', { expires_in_secs: 14 * 86_400 + 1800 })

    await app.clock.advance(3_600_000)
    t.equal(announced(), 1)
    app.clock.step(-dayMs)
    await app.clock.advance(3_600_000)
    t.equal(announced(), 1)
  }
)

t.test('a server that starts with older tokens announces those that expire soon', async t => {
  const app = await limitsFixture(t)
  const { store } = app.server.depsOf('credentials') as Kernel
  const now = app.clock.now()
  await store.change(async em => {
    await em.execute('delete from kernel_store_value where name = ?', ['credentials.expiry_announced'])
    for (const expiresAt of [now - 1, now + dayMs, now + 13 * dayMs, now + 15 * dayMs])
      await em.insert(Credential, {
        id: newId(),
        userId: 'ann',
        label: '',
        tokenHash: hashOf(String(expiresAt)),
        createdAt: now - 60 * dayMs,
        expiresAt
      })
  })

  await app.restart()

  const found = app.log.filter(({ event }) => event === 'credential.expires_soon')
  t.same(found.map(({ fields }) => fields['expires_at']).sort(), [
    '2026-01-16T12:00:00.000Z',
    '2026-01-28T12:00:00.000Z'
  ])
})
