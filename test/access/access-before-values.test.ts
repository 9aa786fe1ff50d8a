// A tenant who sends wrong values to what belongs to others learns only that it belongs to others.
import t from 'tap'
import { type TSchema, Type } from 'typebox'
import { plugins as builtin } from '../../config/plugins.ts'
import { kernelCodes } from '../../kernel/plugin-problems.ts'
import { accessFixture } from './access-fixture.ts'
import { type Kind, kindsOf, rows } from './access-table.ts'
import { callers } from './callers.ts'
import { requestOf } from './requests.ts'

const plugins = await Promise.all(Object.values(builtin).map(async load => (await load()).default))
const routes = plugins.flatMap(({ name, routes = [] }) => routes.map(route => ({ by: name, route })))
const nameless = (route: string): string => route.replaceAll(/:\w+/g, ':id')
const httpOf = new Map(
  [...kernelCodes, ...plugins.flatMap(({ codes }) => codes ?? [])].map(({ code, http }) => [code, http])
)

/** Values that plugins refuse in one field or another. */
const texts = [
  '',
  ' ',
  '!',
  'a b',
  '0.0.0.0',
  '[',
  '\u202e',
  'x'.repeat(300),
  'icmp',
  '-1',
  '0',
  '1',
  '99999999999'
]
const times = ['2000-01-01T00:00:00Z', '9999-12-31T23:59:59Z', '2026-02-30']
const targets = [
  { host: '0.0.0.0', port: 1 },
  { host: 'a..b', port: 1 },
  { host: 'x:1', port: 1, weight: 0 }
]
const numbers = [-1, 0, 1, 65_535, 2 ** 53 - 1]
const others = [
  null,
  true,
  false,
  [],
  {},
  [''],
  ['!'],
  ['0.0.0.0/0'],
  [0],
  targets,
  targets.slice(0, 1),
  { '!': '!' }
]
const wrongValues = [...texts, ...times, ...numbers, ...others]

const propertiesOf = (schema: TSchema | undefined): [string, TSchema][] =>
  schema && Type.IsObject(schema) ? Object.entries(schema.properties) : []

/** Returns wrong values for a property, and for each part of an object. */
const valuesFor = (schema: TSchema): unknown[] => {
  const object = [schema, ...('anyOf' in schema ? (schema.anyOf as TSchema[]) : [])].find(Type.IsObject)
  const parts = propertiesOf(object).flatMap(([key, part]) =>
    valuesFor(part).map(value => ({ [key]: value }))
  )
  return [...wrongValues, ...parts]
}

/** Counts the calls of each handler: a schema refuses a request before its handler. */
let handled = 0
for (const { route } of routes) {
  const { run } = route
  Object.assign(route, {
    run(...call: Parameters<typeof run>) {
      handled++
      return run.apply(route, call)
    }
  })
}

t.test(
  "wrong values for another user's resource are refused as right ones are",
  { timeout: 220_000 },
  async t => {
    const access = await accessFixture(t)
    const caller = callers.find(({ name }) => name === 'owner')
    if (!caller) throw new TypeError('callers.ts has no caller owner')
    const kinds: readonly Kind[] = ['foreign', 'crossed']
    const headers = { ...caller.headers }
    const judged = new Set<string>()
    let sent = 0
    for (const row of rows.filter(({ access, path }) => access === 'user' && kindsOf(path).length > 1)) {
      const found = routes.find(
        ({ route: { method, url } }) => nameless(`${method} ${url}`) === nameless(row.route)
      )
      const { filled } = access.server.depsOf(found?.by ?? '')
      const { body: bodySchema, query: querySchema } = found?.route.schema(filled) ?? {}
      for (const kind of kinds.filter(kind => kindsOf(row.path).includes(kind))) {
        const expected = row.expect(caller, kind)
        const path = await access.pathOf(row.path, caller, kind, 'shared')
        if (path === null || row.path.endsWith('/stream') || !httpOf.has(expected)) continue
        const { body, query = '' } = requestOf(row.route, access)
        const judge = async (url: string, given: unknown): Promise<void> => {
          const before = handled
          const reply = await access.call<{ error?: { code: string } }>(
            row.method as 'GET',
            url,
            given,
            headers
          )
          sent++
          const got = `${reply.status} ${reply.body?.error?.code}`
          if (handled === before || got === `${httpOf.get(expected)} ${expected}`) return
          judged.add(`${row.route} ${kind}: ${got} for ${url.replace(path, '')} ${JSON.stringify(given)}`)
        }
        for (const [key, schema] of propertiesOf(bodySchema))
          for (const value of valuesFor(schema)) await judge(`${path}${query}`, { ...body, [key]: value })
        if (bodySchema) await judge(path, {})
        for (const [key, schema] of propertiesOf(querySchema))
          for (const value of valuesFor(schema).filter(value => typeof value !== 'object')) {
            const search = new URLSearchParams(query)
            search.set(key, String(value))
            await judge(`${path}?${search}`, body)
          }
      }
    }

    t.strictSame([...judged].slice(0, 20), [])
    t.comment(`${sent} requests`)
  }
)

t.test("wrong values beside another user's id in a filter are refused as right ones are", async t => {
  const { call } = await accessFixture(t)
  const ada = { authorization: 'Bearer svct_ada' }
  for (const more of ['', '&selector=!!', '&client=%20', '&limit=1', '&sort=-state'])
    t.match(
      await call('GET', `/v1/rules?owner=zoe${more}`, undefined, ada),
      { status: 403, body: { error: { code: 'not_owner' } } },
      more
    )
})
