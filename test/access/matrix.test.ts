import t from 'tap'
import { plugins as builtin } from '../../config/plugins.ts'
import { kernelCodes } from '../../kernel/plugin-problems.ts'
import { testServer } from '../../kit/test-server.ts'
import { type AccessFixture, accessFixture } from './access-fixture.ts'
import { isKey, type Kind, kindsOf, type Row, rows } from './access-table.ts'
import { type Caller, callers } from './callers.ts'
import { requestOf } from './requests.ts'
import { canaryOf } from './resources.ts'

const plugins = await Promise.all(Object.values(builtin).map(async load => (await load()).default))
const routes = plugins.flatMap(({ routes }) => routes ?? [])
const statusOf = new Map(
  [...kernelCodes, ...plugins.flatMap(({ codes }) => codes ?? [])].map(({ code, http }) => [code, http])
)
/** Returns the expected status and code, such as '200' or '404 rule_not_found'. */
const statusAndCode = (expected: string): string =>
  /^\d/.test(expected) ? expected : `${statusOf.get(expected)} ${expected}`

/** Routes are equal if they differ only in the names of their parameters. */
const nameless = (route: string): string => route.replaceAll(/:\w+/g, ':id')
const nameOf = ({ method, url }: { method: string; url: string }): string => nameless(`${method} ${url}`)
const accessOf = new Map(routes.map(route => [nameOf(route), route.access]))
const isServed = ({ route }: Pick<Row, 'route'>): boolean => accessOf.has(nameless(route))

t.test('every route has a line in the table, and every line has a route', async t => {
  const listed = new Set(rows.map(({ route }) => nameless(route)))
  const superfluous = rows.filter(row => !row.isPlanned && !isServed(row)).map(({ route }) => route)

  const unlisted = routes.map(nameOf).filter(route => !listed.has(route))
  t.same(unlisted, [], 'routes without a line')
  t.same(superfluous, [], 'lines without a route')
  for (const row of rows.filter(isServed)) t.equal(accessOf.get(nameless(row.route)), row.access, row.route)
})

t.test('every exception in the table names an existing caller or group, and a kind of ids', async t => {
  for (const key of ['owner', 'plain', 'bearer', 'superadmin.own', 'plain.foreign']) t.ok(isKey(key), key)
  for (const key of ['any', 'any.own', 'ownr', 'owner.mine', 'owner.']) t.notOk(isKey(key), key)
})

/** A line for GET also covers HEAD, which is tested with one kind of ids. */
const methodsOf = ({ method, path }: Pick<Row, 'method' | 'path'>, kind: Kind): string[] =>
  method === 'GET' && kind === (kindsOf(path)[1] ?? 'own') ? ['GET', 'HEAD'] : [method]

/** POST routes that read: the audit log has only their changes. */
const readingPosts = [
  '/v1/apply-checks',
  '/v1/explain',
  '/v1/auth/device/review',
  '/v1/auth/device/token',
  '/v1/auth/oidc/:id/start'
]

interface Cell {
  readonly row: Row
  readonly method: string
  readonly caller: Caller
  readonly kind: Kind
}

/** Sends the request of a cell. Describes the first mismatch; null if there is none or no such request is possible. */
async function mismatchIn(
  { row, method, caller, kind }: Cell,
  access: AccessFixture
): Promise<string | null> {
  const expected = row.expect(caller, kind)
  const isAccepted = /^\d/.test(expected)
  const isRead = row.method === 'GET' || readingPosts.includes(row.path)
  const path = await access.pathOf(row.path, caller, kind, isAccepted && !isRead ? 'fresh' : 'shared')
  if (path === null) return null
  const { body, query = '', before } = requestOf(row.route, access)
  if (isAccepted) await before?.(path, access.call)
  const decisionsBefore = access.decisions.length

  const reply = await send(row.path, method, `${path}${query}`, { ...caller.headers }, body, access)

  if (isAccepted && !isRead && caller.userId !== null && caller.name !== 'operator-token')
    await access.restore(caller.userId)
  const { code = '' } = (reply.body as { error?: { code: string } } | undefined)?.error ?? {}
  const got = `${reply.status} ${code}`.trim()
  const wanted = method === 'HEAD' ? statusAndCode(expected).slice(0, 3) : statusAndCode(expected)
  if (got !== wanted) return `got ${got}, expected ${wanted}: ${JSON.stringify(reply.body)}`
  return (
    leakIn(reply.body, caller) ??
    decisionMismatch(access.decisions.slice(decisionsBefore), {
      isRead,
      status: reply.status,
      parts: row.path.endsWith('/bulk') ? 1 : 0
    })
  )
}

/** No response to a plain caller, not even a refusal, may contain data of others. */
function leakIn(body: unknown, { role, userId }: Caller): string | null {
  if (role !== 'user') return null
  const text = JSON.stringify(body) ?? ''
  const leak = text.replaceAll(canaryOf(userId ?? ''), '').match(/canary-\w+/)
  return leak && `${leak[0]} shows: ${text}`
}

/** The audit log has one entry for each denial and each mutation, and for each part of one, but none for other reads. */
function decisionMismatch(
  decisions: AccessFixture['decisions'],
  { isRead, status, parts }: { isRead: boolean; status: number; parts: number }
): string | null {
  const isDenied = [401, 403, 429].includes(status)
  const wanted = isDenied ? 'deny' : isRead ? '' : ['allow', ...Array(parts).fill('allow')].join()
  const got = decisions.map(({ outcome }) => outcome).join()
  return got === wanted ? null : `decisions: ${got || 'none'}, expected ${wanted || 'none'}`
}

const isNotJson = (path: string): boolean => /[/](stream|metrics)$/.test(path)

async function send(
  pattern: string,
  method: string,
  url: string,
  headers: Headers,
  body: object | undefined,
  access: AccessFixture
) {
  if (!isNotJson(pattern)) return access.call(method as 'GET', url, body, headers)
  const { authorization, ...rest } = headers
  const reply = await fetch(access.server.origin + url, {
    method,
    headers: { ...rest, connection: 'close', ...(authorization && { authorization }) }
  })
  if (!reply.ok && method !== 'HEAD') return { status: reply.status, body: await reply.json() }
  await reply.body?.cancel()
  return { status: reply.status, body: undefined }
}
type Headers = Record<string, string>

t.test(
  'every route responds to every kind of caller as the table specifies',
  { timeout: 300_000 },
  async t => {
    const access = await accessFixture(t)
    const wrong: string[] = []
    let count = 0
    for (const row of rows.filter(isServed))
      for (const caller of callers)
        for (const kind of kindsOf(row.path))
          for (const method of methodsOf(row, kind)) {
            const found = await mismatchIn({ row, method, caller, kind }, access)
            if (found !== null)
              wrong.push(`${method} ${row.path} as ${caller.name} with ${kind} ids: ${found}`)
            count += 1
          }

    t.same(wrong, [])
    t.comment(`${count} cells`)
  }
)

t.test('without a superadmin only public routes and the operator token work', async t => {
  const server = await testServer(t, { plugins: Object.keys(builtin).filter(name => name !== 'process') })
  const wrong: string[] = []
  for (const { method, url, access } of routes) {
    const path = url.replaceAll(/:\w+/g, 'x')
    for (const verb of method === 'GET' ? ['GET', 'HEAD'] : [method])
      for (const authorization of ['', 'Bearer svct_nonsense', 'Basic eA==']) {
        const { status } = await server.call(verb as typeof method, path, undefined, { authorization })
        if ((status === 503) === (access === 'public'))
          wrong.push(`${verb} ${url} ${authorization}: ${status}`)
      }
    if (isNotJson(path)) continue
    const { status } = await server.call(method, path)
    if ([401, 503].includes(status) && !path.endsWith('/logout')) wrong.push(`${method} ${url}: ${status}`)
  }

  t.same(wrong, [])
})
