// Access to a plugin's routes: by the role of the caller, what the route declares, and how the caller was authenticated.
import t from 'tap'
import { Type } from 'typebox'
import type { AuthenticatedCaller, RequestInfo, Role } from '../../../kernel/http/principal.ts'
import { defineRoute, type Route } from '../../../kernel/http/route.ts'
import type { Kernel } from '../../../kernel/plugin.ts'
import { roles } from '../roles.ts'
import { httpFixture } from './fixture.ts'

type Part = Pick<Route<Kernel>, 'method' | 'access' | 'reads'>

/** The initials of the roles that may call such a route with a session, then with a token. */
const table: readonly (readonly [Part, session: string, token: string])[] = [
  [{ method: 'GET', access: 'public' }, 'uvos', 'uvos'],
  [{ method: 'POST', access: 'public' }, 'uvos', 'uvos'],
  [{ method: 'GET', access: 'self' }, 'uvos', 'uvos'],
  [{ method: 'POST', access: 'self' }, 'uvos', 'u-os'],
  [{ method: 'DELETE', access: 'self' }, 'uvos', 'uvos'],
  [{ method: 'GET', access: 'user' }, 'uvos', 'uvos'],
  [{ method: 'POST', access: 'user' }, 'u-os', 'u-os'],
  [{ method: 'DELETE', access: 'user' }, 'u-os', 'u-os'],
  [{ method: 'POST', access: 'user', reads: true }, 'uvos', 'uvos'],
  [{ method: 'GET', access: 'viewer' }, '-vos', '-vos'],
  [{ method: 'POST', access: 'viewer' }, '--os', '--os'],
  [{ method: 'POST', access: 'viewer', reads: true }, '-vos', '-vos'],
  [{ method: 'GET', access: 'operator' }, '--os', '--os'],
  [{ method: 'PUT', access: 'operator' }, '--os', '--os'],
  [{ method: 'GET', access: 'superadmin' }, '---s', '---s'],
  [{ method: 'DELETE', access: 'superadmin' }, '---s', '---s']
]

const urlOf = ({ method, access, reads }: Part): string => `/v1/${access}-${method}-${reads === true}`

const routes = table.map(([part]) =>
  defineRoute({
    ...part,
    url: urlOf(part),
    action: `thing.${part.access}-${part.method.toLowerCase()}${part.reads ? '-reads' : ''}`,
    status: 200,
    summary: 'Does a thing.',
    schema: () => ({ reply: Type.Object({}) }),
    run: async (_deps: Kernel) => ({})
  })
)

/** The cookie has the role. */
const session = ({ cookies }: RequestInfo): AuthenticatedCaller | null => {
  const role = cookies['role'] as Role | undefined
  return role ? { principal: { userId: 'eve', role, method: 'session' } } : null
}

t.test('a route is called by the roles that its access names, and viewers only read', async t => {
  const { send, store } = await httpFixture(t, { routes, session })
  const setRole = (role: Role) =>
    store.change(em => em.execute("update kernel_user set role = ? where id = 'bob'", [role]))
  const callers = {
    session: (role: Role) => ({ cookie: `role=${role}` }),
    token: () => ({ authorization: 'Bearer token-of-bob' })
  }

  for (const role of roles) {
    await setRole(role)
    for (const [part, ...allowed] of table)
      for (const [at, kind] of (['session', 'token'] as const).entries()) {
        const { status, body } = await send(part.method, urlOf(part), callers[kind](role))
        const isAllowed = (allowed[at] ?? '').includes(role.charAt(0))
        const name = `${kind} of ${role}: ${part.method} ${part.access} ${part.reads ? 'reads' : ''}`
        t.equal(status, isAllowed ? 200 : 403, name)
        if (!isAllowed) t.match(body, { error: { code: 'role_required', message: role } }, name)
      }
  }
})

t.test('an unknown role, of a later release, is refused everywhere but on public routes', async t => {
  const { send } = await httpFixture(t, { routes, session })

  for (const [part] of table) {
    const { status } = await send(part.method, urlOf(part), { cookie: 'role=auditor' })
    t.equal(status, part.access === 'public' ? 200 : 403, `${part.method} ${part.access}`)
  }
})

t.test('a route that only reads is audited only if it is denied', async t => {
  const { send, decisions } = await httpFixture(t, { routes, session })
  const url = urlOf({ method: 'POST', access: 'viewer', reads: true })

  t.equal((await send('POST', url, { cookie: 'role=viewer' })).status, 200)
  t.same(decisions, [])
  t.equal((await send('POST', url, { cookie: 'role=user' })).status, 403)
  t.match(decisions, [{ outcome: 'deny', reason: 'role_required', role: 'user' }])
})

t.test('the document names the roles of each operation', async t => {
  const { http } = await httpFixture(t, { routes, session })
  const { paths } = http.document() as unknown as {
    paths: Record<string, Record<string, { 'x-roles'?: readonly string[]; description: string }>>
  }

  for (const [part, allowed] of table) {
    const operation = paths[urlOf(part)]?.[part.method.toLowerCase()]
    const named = operation?.['x-roles']?.map(role => role.charAt(0)).join('')
    t.equal(named, part.access === 'public' ? undefined : allowed.replaceAll('-', ''), urlOf(part))
    t.match(operation?.description, /Access: /)
  }
})
