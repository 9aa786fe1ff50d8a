import t from 'tap'
import { Type } from 'typebox'
import { defineCode } from '../../../kernel/base/errors.ts'
import { defineRoute, type Route } from '../../../kernel/http/route.ts'
import type { Kernel } from '../../../kernel/plugin.ts'
import { httpFixture, operator, portOf, user } from './fixture.ts'

const closed = { additionalProperties: false }
const Body = Type.Object(
  {
    name: Type.Optional(Type.String({ minLength: 1, code: 'thing_name' })),
    protocol: Type.Optional(Type.Union([Type.Literal('tcp'), Type.Literal('udp')])),
    address: Type.Optional(Type.Union([Type.String(), Type.Null()])),
    size: Type.Optional(Type.Integer({ minimum: 1 })),
    targets: Type.Optional(
      Type.Array(Type.Object({ host: Type.String(), port: Type.Integer() }, closed), {
        code: 'thing_targets'
      })
    ),
    limit: Type.Optional(Type.Union([Type.Object({ rate: Type.Integer() }, closed), Type.Null()])),
    notes: Type.Optional(Type.Record(Type.String(), Type.Unknown()))
  },
  closed
)
const Query = Type.Object(
  {
    wait: Type.Optional(Type.Integer()),
    deep: Type.Optional(Type.Boolean()),
    name: Type.Optional(Type.String())
  },
  closed
)

const routes = [
  defineRoute({
    method: 'POST',
    url: '/v1/things',
    action: 'thing.make',
    access: 'user',
    status: 200,
    summary: 'Makes.',
    schema: () => ({ body: Body, query: Query, reply: Type.Unknown() }),
    run: async (_deps: Kernel, { body, query }) => ({ body, query })
  }),
  defineRoute({
    method: 'POST',
    url: '/v1/things/stop',
    action: 'thing.stop',
    access: 'user',
    status: 204,
    summary: 'Stops.',
    schema: () => ({ reply: Type.Null() }),
    run: async (_deps: Kernel) => null
  })
]
const codes = [defineCode('thing_name', 422, 3), defineCode('thing_targets', 400, 3)]

const refused = [
  [{ nmae: 'a' }, 400, 'validation.unknown_field', '/nmae', /did you mean name/],
  [{ 'a/b': 1 }, 400, 'validation.unknown_field', '/a~1b', /unknown/],
  [
    { targets: [{ host: 'a', port: 1, prio: 0 }] },
    400,
    'validation.unknown_field',
    '/targets/0/prio',
    /unknown/
  ],
  [{ limit: { rate: 1, burst: 2 } }, 400, 'validation.unknown_field', '/limit/burst', /unknown/],
  [{ name: '' }, 422, 'thing_name', '/name', /1 char/],
  [{ name: 7 }, 422, 'thing_name', '/name', /string/],
  [{ targets: 'a' }, 400, 'thing_targets', '/targets', /array/],
  [{ targets: [{ host: 'a' }] }, 400, 'thing_targets', '/targets/0/port', /required/],
  [{ protocol: 'sctp' }, 400, 'validation.schema', '/protocol', /one of tcp, udp/],
  [{ address: 7 }, 400, 'validation.schema', '/address', /string/],
  [{ limit: { rate: 'x' } }, 400, 'validation.schema', '/limit/rate', /integer/],
  [{ size: '5' }, 400, 'validation.schema', '/size', /integer/],
  [{ size: 2 ** 53 }, 400, 'validation.schema', '/size', /2\^53-1/],
  [
    { address: 'a\ud800b' },
    400,
    'validation.schema',
    '/address',
    /address must not have half of a surrogate/
  ],
  [{ address: '\udc00' }, 400, 'validation.schema', '/address', /surrogate/],
  [{ address: 'a\0' }, 400, 'validation.schema', '/address', /NUL/],
  [
    {
      targets: [
        { host: 'a', port: 1 },
        { host: '\ud83d', port: 1 }
      ]
    },
    400,
    'validation.schema',
    '/targets/1/host',
    /surrogate/
  ],
  [{ notes: { a: 1, '\ud800': 2 } }, 400, 'validation.schema', '/notes/\ud800', /surrogate/],
  [{ notes: { 'a\0': 2 } }, 400, 'validation.schema', '/notes/a\0', /NUL/],
  [[], 400, 'validation.schema', '', /the body must be object/],
  ['null', 400, 'validation.schema', '', /object/]
] as const

t.test('an invalid body is refused with the field, never coerced', async t => {
  const { send } = await httpFixture(t, { routes, codes })

  for (const [sent, status, code, field, message] of refused) {
    const headers = { ...operator, 'content-type': 'application/json' }
    const answer = await send('POST', '/v1/things', headers, sent)
    t.match(answer, { status, body: { error: { code, message, details: { field } } } }, JSON.stringify(sent))
    t.notMatch(answer.body.error.message, code)
  }
})

t.test('a refusal lists at most 16 errors, and its message is about the first', async t => {
  const { send, log } = await httpFixture(t, { routes, codes })
  const unknown = Object.fromEntries(Array.from({ length: 300 }, (_, at) => [`field_${at}`, null]))
  const targets = Array.from({ length: 2000 }, () => ({}))

  const bodies: readonly [object, string, string][] = [
    [unknown, 'validation.unknown_field', '/field_0'],
    [{ limit: unknown }, 'validation.unknown_field', '/limit/field_0'],
    [{ targets }, 'thing_targets', '/targets/0/host']
  ]
  for (const [sent, code, field] of bodies) {
    const { status, body } = await send('POST', '/v1/things', operator, sent)
    t.match({ status, body }, { status: 400, body: { error: { code, details: { field } } } })
    const { message, details } = body.error as {
      readonly message: string
      readonly details: { readonly reason: string; readonly errors: readonly object[] }
    }
    t.ok(message.startsWith(`${field} `), message)
    t.equal(details.errors.length, 16)
    t.same(details.errors[0], { field, reason: details.reason })
  }
  t.same(log, [])
})

t.test('a valid body reaches the route as it was sent', async t => {
  const { send } = await httpFixture(t, { routes, codes })
  const sent = { name: 'a', address: null, size: 2 ** 53 - 1, limit: null, targets: [{ host: 'h', port: 1 }] }

  const { body } = await send('POST', '/v1/things?wait=-3&deep=true&name=7', operator, sent)

  t.same(body, { body: sent, query: { wait: -3, deep: true, name: '7' } })
})

t.test('a query accepts only exact numbers and booleans, and text without NUL', async t => {
  const { send } = await httpFixture(t, { routes, codes })

  for (const [query, field] of [
    ['wait=1.5', '/wait'],
    ['wait=', '/wait'],
    ['wait=0x10', '/wait'],
    ['wait=1&wait=2', '/wait'],
    ['wait=9007199254740993', '/wait'],
    ['deep=1', '/deep'],
    ['deep=', '/deep'],
    ['name=a%00', '/name']
  ] as const)
    t.match(
      await send('POST', `/v1/things?${query}`, operator, {}),
      { status: 400, body: { error: { code: 'validation.schema', details: { field } } } },
      query
    )
})

t.test('a parameter that cannot be decoded is refused, and not taken as it is', async t => {
  const { send } = await httpFixture(t, { routes })

  for (const name of ['%E9', '%', 'a%2', '%zz', '%C0%80', '%ED%A0%80', '%F0%9F%92'])
    t.match(
      await send('POST', `/v1/things?deep=true&name=${name}`, operator, {}),
      {
        status: 400,
        body: {
          error: {
            code: 'validation.schema',
            message: '/name must be percent-encoded UTF-8, and a percent sign is written %25',
            details: { field: '/name' }
          }
        }
      },
      name
    )
  for (const [name, text] of [
    ['%C3%A9', 'é'],
    ['100%25', '100%'],
    ['%25E9', '%E9'],
    ['a+b', 'a b']
  ] as const)
    t.match(await send('POST', `/v1/things?name=${name}`, operator, {}), { body: { query: { name: text } } })
})

t.test('an integer that JSON may have rounded is refused with the bound on its side', async t => {
  const { send } = await httpFixture(t, { routes, codes })

  for (const [wait, bound] of [
    ['9007199254740993', 'at most 2^53-1'],
    ['-9007199254740993', 'at least -(2^53-1)']
  ] as const)
    t.match(await send('POST', `/v1/things?wait=${wait}`, operator, {}), {
      status: 400,
      body: { error: { code: 'validation.schema', message: `/wait must be ${bound}` } }
    })
})

t.test('a route without required fields accepts no body, {} and an empty body alike', async t => {
  const { send } = await httpFixture(t, { routes, codes })
  const typed = { ...operator, 'content-type': 'application/json' }

  for (const url of ['/v1/things', '/v1/things/stop']) {
    const answers = [
      await send('POST', url, operator),
      await send('POST', url, typed),
      await send('POST', url, { ...operator, 'content-type': 'text/plain' }),
      await send('POST', url, operator, {}),
      await send('POST', url, typed, '')
    ]
    t.same(new Set(answers.map(({ status }) => status)).size, 1, url)
    t.ok(
      answers.every(({ status }) => status < 300),
      url
    )
  }
  t.match(await send('POST', '/v1/things/stop', operator, { now: true }), { status: 400 })
})

t.test('a body beyond the limit of its route is refused, from its length and while it is read', async t => {
  const [make] = routes as [Route<Kernel>]
  const variants: readonly [Partial<Route<Kernel>>, number, string][] = [
    [{}, 64 * 1024, '64 KiB'],
    [{ access: 'public' }, 8 * 1024, '8 KiB'],
    [{ bodyBytes: 2 ** 20 }, 2 ** 20, '1 MiB'],
    [{ bodyBytes: 100 }, 100, '100 bytes']
  ]
  const typed = { ...operator, 'content-type': 'application/json; charset=utf-8' }
  for (const [at, [variant, bytes, text]] of variants.entries()) {
    const { http, send, close } = await httpFixture(t, {
      routes: [{ ...make, ...variant }],
      codes,
      dir: t.testdir({ [at]: {} })
    })
    const port = await portOf(http)
    const body = (size: number) => `{"name":"${'a'.repeat(size - 11)}"}`
    const post = (duplex: object) =>
      fetch(`http://127.0.0.1:${port}/v1/things`, { method: 'POST', headers: typed, ...duplex })

    t.match(await send('POST', '/v1/things', typed, body(bytes)), { status: 200 })
    const refused = {
      code: 'body_too_large',
      message: `the body has more than ${text}; send less in one request`,
      details: { limit_bytes: bytes }
    }
    t.match(await send('POST', '/v1/things', typed, body(bytes + 1)), {
      status: 413,
      body: { error: refused }
    })
    const chunked = await post({ body: new Blob([body(bytes + 1)]).stream(), duplex: 'half' })
    t.equal(chunked.status, 413)
    t.same(await chunked.json(), { error: refused })
    await close()
  }
})

t.test('a route cannot declare a body of more than 1 MiB', async t => {
  const [make] = routes as [Route<Kernel>]

  for (const bodyBytes of [0, 1.5, 2 ** 20 + 1])
    await t.rejects(httpFixture(t, { routes: [{ ...make, bodyBytes }], codes, dir: t.testdir() }), {
      message: `thing.make: bodyBytes must be an integer from 1 to 1048576, got ${bodyBytes}`
    })
})

t.test('a required property with a default may be left out, and the route gets the default', async t => {
  const given: unknown[] = []
  const route = defineRoute({
    method: 'POST',
    url: '/v1/levels',
    action: 'level.set',
    access: 'user',
    status: 204,
    summary: 'Sets a level.',
    schema: () => ({
      body: Type.Object({ level: Type.Integer({ default: 5 }) }, { additionalProperties: false }),
      reply: Type.Void()
    }),
    run: async (_deps: Kernel, { body }) => void given.push(body)
  })
  const { send } = await httpFixture(t, { routes: [route] })
  const json = { ...user, 'content-type': 'application/json' }

  t.equal((await send('POST', '/v1/levels', json, '{}')).status, 204)
  t.equal((await send('POST', '/v1/levels', json, '{"level":7}')).status, 204)
  t.equal((await send('POST', '/v1/levels', json, '{"level":"x"}')).status, 400)
  t.same(given, [{ level: 5 }, { level: 7 }])
})
