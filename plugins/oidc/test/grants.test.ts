// The groups of a user at the provider give grants.
import t, { type Test } from 'tap'
import { Client } from '../../../kernel/identity/entities.ts'
import { hashOf } from '../../../kernel/identity/secret.ts'
import { newId } from '../../../kernel/platform/id.ts'
import type { GrantRow } from '../../grants/exports.ts'
import { oidcServer, openBrowser, settings } from './fixture.ts'

const listen = (client: string, from: number, more: object = {}) => ({
  client,
  listen_port_start: from,
  listen_port_end: from + 99,
  protocols: ['tcp'],
  ...more
})

const grants = {
  web: [listen('edge', 8000)],
  'cn=net,dc=corp': [listen('edge', 9000, { targets: ['10.0.0.0/8'] }), listen('edge', 9500, { note: 'x' })]
}

async function open(t: Test, more: object = {}) {
  const { app, provider } = await oidcServer(t, { make_users: true, grants, ...more })
  const { store } = app.server.depsOf('oidc')
  const enroll = async (name: string) => {
    const id = newId(app.clock.now())
    const row = { id, name, tokenHash: hashOf(id), revision: 0, enrolledAt: app.clock.now() }
    await store.change(em => em.insert(Client, row))
    return id
  }
  const clientId = await enroll('edge')
  const browser = openBrowser(app)
  const signIn = (groups: unknown, page = browser) => {
    provider.claims = { preferred_username: 'ann', groups }
    return page.signIn(provider)
  }
  const listed = async () => (await app.call<readonly GrantRow[]>('GET', '/v1/grants?user_id=ann')).body
  /** The grants of ann, as `source` and first port. */
  const given = async () =>
    (await listed()).map(({ source, listen_port_start: port }) => [source, port]).sort()
  const create = (body: object) => app.call<GrantRow>('POST', '/v1/grants', { user_id: 'ann', ...body })
  return { app, provider, browser, clientId, enroll, signIn, listed, given, create, store }
}

const corp = 'oidc:corp'
const ok = 'https://sluice.test/'

t.test('at each sign-in the grants are those of the groups, with entries in the audit log', async t => {
  const { app, signIn, given, listed, clientId } = await open(t)
  for (const [groups, ports] of [
    [['other'], []],
    [['web'], [8000]],
    [
      ['web', 'web', 'cn=net,dc=corp'],
      [8000, 9000, 9500]
    ],
    [['cn=net,dc=corp'], [9000, 9500]],
    ['web', [8000]],
    [['__proto__', 'constructor', 'WEB'], []]
  ] as const) {
    t.equal(await signIn(groups), ok)
    t.same(
      await given(),
      ports.map(port => [corp, port]),
      JSON.stringify(groups)
    )
  }

  await signIn(['cn=net,dc=corp'])
  t.match(await listed(), [
    { client_id: clientId, client_name: 'edge', use: 'listen', targets: ['10.0.0.0/8'], note: null },
    { note: 'x', targets: null, source: corp }
  ])
  const created = { actor: '_oidc', resourceKind: 'grant', outcome: 'allow' }
  const source = { field: 'source', from: null, to: corp }
  t.match(app.decisions.filter(({ action }) => action.startsWith('grant.')).slice(0, 4), [
    { ...created, action: 'grant.create', changes: [{ field: 'use', from: null, to: 'listen' }, source] },
    { ...created, action: 'grant.create' },
    { ...created, action: 'grant.create' },
    { ...created, action: 'grant.delete', changes: [{ field: 'use' }, { ...source, from: corp, to: null }] }
  ])
})

t.test('a sign-in with the same groups changes nothing', async t => {
  const { app, signIn, listed } = await open(t)
  await signIn(['web', 'cn=net,dc=corp'])
  const before = await listed()
  const entries = app.decisions.length
  await signIn(['cn=net,dc=corp', 'web'])
  t.same(await listed(), before)
  t.same(
    app.decisions.slice(entries).filter(({ action }) => action.startsWith('grant.')),
    []
  )
})

t.test('a grant by hand stays, also one with the same content', async t => {
  const { app, signIn, given, create } = await open(t)
  await signIn([])
  t.equal((await create(listen('edge', 8000))).status, 201)
  await signIn(['web'])
  t.same(
    await given(),
    [
      [corp, 8000],
      [null, 8000]
    ].sort()
  )
  const same = await create(listen('edge', 8000))
  t.match(same, { status: 409, body: { error: { code: 'grant_already_exists' } } })
  await signIn([])
  t.same(await given(), [[null, 8000]])

  await signIn(['cn=net,dc=corp'])
  t.equal((await create(listen('edge', 9500, { note: 'x' }))).status, 201, 'beside that of the provider')
  t.match((await app.call('GET', '/v1/users/ann')).body, { grant_count: 4 })
})

t.test('nobody changes or deletes a grant of a provider by hand', async t => {
  const { app, signIn, listed } = await open(t)
  await signIn(['web'])
  const [grant] = await listed()
  const managed = { status: 409, body: { error: { code: 'managed_by_provider' } } }
  for (const [method, body] of [
    ['DELETE', undefined],
    ['PATCH', { note: 'mine' }]
  ] as const)
    t.match(await app.call(method, `/v1/grants/${grant?.grant_id}`, body), managed)
  t.same(await listed(), [grant])
})

t.test('without the claim the sign-in fails, and the grants stay', async t => {
  const { signIn, listed } = await open(t)
  await signIn(['web'])
  const before = await listed()
  for (const groups of [undefined, null, 7, { web: true }, ['web', 7]])
    t.equal(await signIn(groups), '/#error=oidc_groups_missing', JSON.stringify(groups))
  t.same(await listed(), before)
})

t.test('who leaves the allowed groups loses the grants at the refused sign-in', async t => {
  const { signIn, given } = await open(t, { allowed_groups: ['staff'] })
  t.equal(await signIn(['staff', 'web']), ok)
  t.same(await given(), [[corp, 8000]])
  t.equal(await signIn(['web']), '/#error=oidc_not_allowed')
  t.same(await given(), [])
})

t.test('a grant for a client that does not exist is left out, and the sign-in succeeds', async t => {
  const missing = {
    web: [listen('nowhere', 7000), listen('edge', 8000), { ...exit('edge'), entries: ['x'] }]
  }
  const { app, signIn, given, enroll } = await open(t, { grants: missing })
  t.equal(await signIn(['web']), ok)
  t.same(await given(), [[corp, 8000]])
  const lines = app.log.filter(({ event }) => event === 'oidc.grant_skipped')
  t.match(lines, [{ fields: { user: 'ann', provider: 'corp' }, message: /2 grants .*nowhere/ }])
  t.equal(lines.length, 1)

  await enroll('nowhere')
  await signIn(['web'])
  t.same(await given(), [
    [corp, 7000],
    [corp, 8000]
  ])
  await enroll('edge')
  t.equal(await signIn(['web']), ok, 'two clients have the name')
  t.same(await given(), [[corp, 7000]])
})

const exit = (client: string) => ({ client, use: 'exit', protocols: ['tcp'] })

t.test('the name of a client counts at each sign-in', async t => {
  const { signIn, listed, clientId, store, enroll } = await open(t)
  await signIn(['web'])
  await store.change(em => em.nativeUpdate(Client, { id: clientId }, { name: 'berlin' }))
  t.match(await listed(), [{ client_id: clientId, client_name: 'berlin' }], 'until the next sign-in')
  await signIn(['web'])
  t.same(await listed(), [], 'no client has the name')
  const other = await enroll('edge')
  await signIn(['web'])
  t.match(await listed(), [{ client_id: other }])
})

t.test('a grant that names the id of a client outlives a new name', async t => {
  const { app, provider, signIn, listed, clientId, store } = await open(t)
  const { client: _, ...terms } = listen('', 8000)
  const web = [
    { ...terms, client_id: clientId },
    { ...terms, client_id: '*', protocols: ['UDP', 'tcp'] }
  ]
  const { providers } = settings(provider.issuer, { make_users: true, grants: { web } })
  Object.assign(app.server.depsOf('oidc').config, { providers }) // as a reload does
  await signIn(['web'])
  const before = await listed()
  t.match(before, [{ client_name: 'edge' }, { client_id: '*', protocols: ['tcp', 'udp'] }])
  await store.change(em => em.nativeUpdate(Client, { id: clientId }, { name: 'berlin' }))
  await signIn(['web'])
  t.match(await listed(), [{ ...before[0], client_name: 'berlin' }, before[1]])
})

t.test('the grants stay when the provider leaves, and may then be changed by hand', async t => {
  const { app, provider, signIn, listed, given } = await open(t)
  await signIn(['cn=net,dc=corp'])
  const { config } = app.server.depsOf('oidc')
  Object.assign(config, { providers: {} }) // as a reload does
  const [first, second] = await listed()
  t.equal(second?.source, corp)
  const changed = await app.call('PATCH', `/v1/grants/${second?.grant_id}`, { note: 'mine' })
  t.match(changed, { status: 200, body: { note: 'mine', source: null } })
  t.equal((await app.call('DELETE', `/v1/grants/${first?.grant_id}`)).status, 200)
  t.same(await given(), [[null, 9500]])

  Object.assign(config, settings(provider.issuer, { grants }))
  await signIn([])
  t.same(await given(), [[null, 9500]], 'what was changed by hand is no longer of the provider')
})

t.test('the grants stay when the provider gives none any more', async t => {
  const { app, provider, signIn, given, listed } = await open(t)
  await signIn(['web'])
  Object.assign(app.server.depsOf('oidc').config, settings(provider.issuer))
  await signIn([])
  t.same(await given(), [[corp, 8000]])
  t.equal((await app.call('DELETE', `/v1/grants/${(await listed())[0]?.grant_id}`)).status, 200)
})

t.test('the last identity of a provider takes its grants along, and a deleted user all', async t => {
  const { app, signIn, given, create } = await open(t)
  await signIn(['web'])
  await create(listen('edge', 7000))
  await app.call('POST', '/v1/users/ann/identities', { provider: 'corp', sub: 'subject-2' })
  const { body } = await app.call<readonly { identity_id: string }[]>('GET', '/v1/users/ann/identities')
  const remove = (at: number) => app.call('DELETE', `/v1/users/ann/identities/${body[at]?.identity_id}`)
  t.equal((await remove(0)).status, 204)
  t.same(
    await given(),
    [
      [corp, 8000],
      [null, 7000]
    ].sort()
  )
  t.equal((await remove(1)).status, 204)
  t.same(await given(), [[null, 7000]])

  await app.call('POST', '/v1/users/ann/identities', { provider: 'corp', sub: 'subject-1' })
  await signIn(['web'])
  t.match(await app.call('DELETE', '/v1/users/ann'), {
    status: 200,
    body: { removed_grant_ids: { length: 2 } }
  })
  t.same(await given(), [])
})

t.test('two sign-ins of a user at once leave the grants of one of them', async t => {
  const { app, provider, signIn, given } = await open(t)
  await signIn([])
  const pages = [openBrowser(app, 'a'.repeat(32)), openBrowser(app, 'b'.repeat(32))]
  const groups = new Map<unknown, string>() // by the nonce of the sign-in
  provider.token = claims =>
    provider.sign({ ...claims, preferred_username: 'ann', groups: [groups.get(claims['nonce'])] })
  for (let round = 0; round < 5; round++) {
    const answers = await Promise.all(
      pages.map(async (page, at) => {
        const address = await page.begin()
        groups.set(new URL(address).searchParams.get('nonce'), ['web', 'cn=net,dc=corp'][at] ?? '')
        return provider.authorize(address, { code: `code-${at}` })
      })
    )
    t.same(await Promise.all(pages.map((page, at) => page.finish(answers[at] ?? new URLSearchParams()))), [
      ok,
      ok
    ])
    const ports = (await given()).map(([, port]) => port)
    t.ok(['8000', '9000,9500'].includes(String(ports)), String(ports))
  }
})
