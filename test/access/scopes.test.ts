// Every route of the server, called with tokens of each kind of scope.
import t from 'tap'
import { plugins as builtin } from '../../config/plugins.ts'
import { Credential } from '../../kernel/identity/entities.ts'
import { hashOf } from '../../kernel/identity/secret.ts'
import { newId } from '../../kernel/platform/id.ts'
import type { Deps } from '../../plugins/auth/test/fixture.ts'
import { type AccessFixture, accessFixture } from './access-fixture.ts'
import { kindsOf, type Row, rows } from './access-table.ts'
import { type Caller, callers } from './callers.ts'
import { requestOf } from './requests.ts'

const plugins = await Promise.all(Object.values(builtin).map(async load => (await load()).default))
const nameless = (route: string): string => route.replaceAll(/:\w+/g, ':id')
const actions = new Map(
  plugins.flatMap(({ routes = [] }) =>
    routes.map(({ method, url, action }) => [nameless(`${method} ${url}`), action] as const)
  )
)

/** The routes that break the rule of the method. */
const exceptions: Readonly<Record<string, 'read' | 'none'>> = {
  'POST /v1/apply-checks': 'read',
  'POST /v1/explain': 'read',
  'GET /v1/users/me': 'none',
  'POST /v1/auth/logout': 'none'
}

const takesTokens = ({ route, access }: Row): boolean =>
  actions.has(nameless(route)) && access !== 'public' && access !== 'session'

interface Need {
  readonly area: string
  readonly right: 'read' | 'write' | 'none'
}

function needOf({ route, method }: Row): Need {
  const [area = ''] = (actions.get(nameless(route)) ?? '').split('.')
  return { area, right: exceptions[route] ?? (method === 'GET' ? 'read' : 'write') }
}

/** Scopes of a token for a route of this area, and whether it has the right to read and to write there. */
const tokensOf = (area: string): readonly (readonly [scopes: string | null, rights: string])[] => [
  [null, 'read write'],
  ['*:read *:write', 'read write'],
  ['*:read', 'read'],
  ['*:write', 'write'],
  [`${area}:read`, 'read'],
  [`${area}:write`, 'write'],
  [`${area}:read ${area}:write`, 'read write'],
  [`x${area}:read ${area}x:write x${area}:write ${area}x:read`, ''],
  ['', '']
]

const root = callers.find(({ name }) => name === 'superadmin') as Caller

/** Returns the Authorization header of a superadmin's token with these scopes. */
function tokenMaker({ server, clock }: AccessFixture) {
  const { store } = server.depsOf('auth') as Deps
  const made = new Map<string | null, string>()
  return async (scopes: string | null): Promise<string> => {
    const token = made.get(scopes) ?? `svct_${newId()}`
    if (!made.has(scopes))
      await store.change(em =>
        em.insert(Credential, {
          id: newId(),
          userId: 'root',
          label: '',
          tokenHash: hashOf(token),
          createdAt: clock.now(),
          scopes
        })
      )
    made.set(scopes, token)
    return `Bearer ${token}`
  }
}

interface Answer {
  readonly status: number
  readonly code: string
  readonly scope: string
}

async function ask(access: AccessFixture, method: string, url: string, body: object, authorization: string) {
  const reply = await fetch(access.server.origin + url, {
    method,
    headers: { authorization, connection: 'close', 'content-type': 'application/json' },
    ...(!['GET', 'HEAD'].includes(method) && { body: JSON.stringify(body) })
  })
  const isStream = reply.headers.get('content-type') === 'text/event-stream'
  if (isStream) await reply.body?.cancel()
  const text = isStream ? '' : await reply.text()
  const { code = '', details = {} } = /^\{"error"/.test(text)
    ? (JSON.parse(text) as { error: { code?: string; details?: { scope?: string } } }).error
    : {}
  return { status: reply.status, code, scope: details.scope ?? '' } satisfies Answer
}

t.test(
  'a token calls exactly the routes that its scopes allow, and a refusal names the scope',
  { timeout: 300_000 },
  async t => {
    const access = await accessFixture(t)
    const makeToken = tokenMaker(access)
    const wrong: string[] = []
    let count = 0
    for (const row of rows.filter(takesTokens)) {
      const { area, right } = needOf(row)
      const kind = kindsOf(row.path).includes('missing') ? 'missing' : 'own' // changes nothing
      const path = (await access.pathOf(row.path, root, kind, 'shared')) ?? row.path
      const { body = {}, query = '' } = row.path === '/v1/explain' ? requestOf(row.route, access) : {}
      for (const method of row.method === 'GET' ? ['GET', 'HEAD'] : [row.method])
        for (const [scopes, rights] of tokensOf(area)) {
          const got = await ask(access, method, path + query, body, await makeToken(scopes))
          count += 1
          const isAllowed = right === 'none' || rights.split(' ').includes(right)
          const isRefused = got.status === 403 && (method === 'HEAD' || got.scope === `${area}:${right}`)
          const isScope = method === 'HEAD' ? got.status === 403 : got.code === 'scope_required'
          if (isAllowed ? isScope : !(isScope && isRefused))
            wrong.push(`${method} ${row.path} with ${scopes}: ${JSON.stringify(got)}`)
        }
    }

    t.same(wrong, [])
    t.ok(count > 700, `${count} requests`)
  }
)

t.test('GET /v1/scopes lists each route under the scopes that it needs', async t => {
  const access = await accessFixture(t)
  const { body } = await access.call<{ scope: string; routes: string[] }[]>('GET', '/v1/scopes?limit=1000')
  const listed = new Map(body.map(({ scope, routes }) => [scope, routes]))
  const routesOf = (scope: string): readonly string[] =>
    (listed.get(scope) ?? []).map(route => nameless(route.replaceAll(/\{(\w+)\}/g, ':$1')))

  t.same(body.slice(0, 2), [
    { scope: '*:read', routes: [] },
    { scope: '*:write', routes: [] }
  ])
  for (const row of rows.filter(takesTokens)) {
    const { area, right } = needOf(row)
    const found = [...listed.keys()].filter(scope => routesOf(scope).includes(nameless(row.route)))
    const wanted = right === 'none' ? [] : [`${area}:${right}`]
    t.same(found, row.path === '/v1/explain' ? ['rule:read', 'rule:write'] : wanted, row.route)
  }
})

t.test('an explanation with a probe or a test byte needs the write scope', async t => {
  const access = await accessFixture(t)
  const makeToken = tokenMaker(access)
  const { body = {} } = requestOf('POST /v1/explain', access)

  for (const active of [{ probe: true }, { test_byte: true }]) {
    const explain = async (scopes: string) =>
      ask(access, 'POST', '/v1/explain', { ...body, ...active }, await makeToken(scopes))
    const refused = { status: 403, code: 'scope_required', scope: 'rule:write' }
    t.same(await explain('rule:read'), refused, 'read')
    t.same(await explain('*:read'), refused, 'read everything')
    t.equal((await explain('rule:write')).status, 200, 'write')
  }
})
