import t from 'tap'
import { newId } from '../../../kernel/platform/id.ts'
import { networkOf } from '../../../kernel/platform/network.ts'
import { origin } from '../../auth/test/fixture.ts'
import { UsedState } from '../entities.ts'
import { spendLogoutToken } from '../sign-in/logout-tokens.ts'
import { oidcServer, openBrowser } from './fixture.ts'

t.test('one network cannot use up the sign-ins of others', async t => {
  const { app, provider } = await oidcServer(t, { make_users: true })
  provider.claims = { preferred_username: 'ann' }
  const { store } = app.server.depsOf('oidc')
  const expiresAt = app.clock.now() + 600_000
  const rows = Array.from({ length: 1_000 }, () => ({
    id: newId(),
    network: networkOf('127.0.0.1'),
    expiresAt
  }))
  await store.change(em => em.insertMany(UsedState, rows))

  t.equal(await openBrowser(app).signIn(provider), '/#error=rate_limited')
  const other = openBrowser(app, 'k'.repeat(32), '192.0.2.1')
  t.equal(await other.signIn(provider), `${origin}/`)
  await app.clock.advance(600_000)
  t.equal(await openBrowser(app).signIn(provider), `${origin}/`, 'ten minutes later')
})

t.test(
  'logout tokens of providers take no sign-in away, and those of one provider none of another',
  async t => {
    const { app, provider } = await oidcServer(t, { make_users: true })
    provider.claims = { preferred_username: 'ann' }
    const { store } = app.server.depsOf('oidc')
    const now = app.clock.now()
    const spend = (name: string, jti: string, at = now) =>
      store.change(em => spendLogoutToken(em, { provider: name, jti }, at))
    const rowsOf = (network: string, count: number) =>
      Array.from({ length: count }, () => ({ id: newId(), network, expiresAt: now + 600_001 }))

    t.equal(await spend('corp', 'first'), true)
    t.equal(await spend('dev', 'first'), true)
    for (let part = 0; part < 20; part++)
      await store.change(em => em.insertMany(UsedState, rowsOf(`provider old-${part}`, 1_000)))
    await store.change(em => em.insertMany(UsedState, rowsOf('provider corp', 2_499)))

    t.equal(await openBrowser(app).signIn(provider), `${origin}/`, 'beside 22,500 tokens')
    t.same([await spend('corp', 'first'), await spend('dev', 'first')], [false, false], 'used before')
    t.equal(await spend('corp', 'second', now + 2), true)
    t.equal(await store.read(em => em.count(UsedState, { network: 'provider corp' })), 2_500)
    t.equal(await spend('corp', 'first', now + 3), true, 'the oldest is forgotten')
    t.equal(await spend('dev', 'first'), false)
  }
)
