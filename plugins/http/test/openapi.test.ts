import t, { type Test } from 'tap'
import { type TSchema, Type } from 'typebox'
import { defineCode, type ErrorCode, Fault } from '../../../kernel/base/errors.ts'
import { defineRoute } from '../../../kernel/http/route.ts'
import type { Kernel } from '../../../kernel/plugin.ts'
import { defineList } from '../exports.ts'
import { httpFixture } from './fixture.ts'

const routes = [
  defineRoute({
    method: 'PUT',
    url: '/v1/things/:id',
    action: 'thing.put',
    access: 'superadmin',
    status: 200,
    summary: 'Puts a thing.',
    schema: () => ({
      body: Type.Object(
        {
          code: Type.String({ code: 'thing_code' }),
          even: Type.Refine(
            Type.String(),
            text => text.length % 2 === 0,
            () => 'odd'
          ),
          nothing: Type.Union([Type.String(), Type.Null()])
        },
        { additionalProperties: false }
      ),
      params: Type.Object({ id: Type.String() }),
      reply: Type.Object({ id: Type.String() })
    }),
    run: async (_deps: Kernel, { params: { id } }) => ({ id })
  }),
  defineRoute({
    method: 'DELETE',
    url: '/v1/things/:id',
    action: 'thing.remove',
    access: 'user',
    status: 204,
    summary: 'Removes a thing.',
    schema: () => ({ params: Type.Object({ id: Type.String() }), reply: Type.Null() }),
    run: async (_deps: Kernel) => null
  }),
  defineRoute({
    method: 'POST',
    url: '/v1/auth/hello',
    action: 'thing.hello',
    access: 'public',
    status: 200,
    summary: 'Says hello.',
    schema: () => ({
      body: Type.Object({ a: Type.Optional(Type.String()) }, { additionalProperties: false }),
      reply: Type.Object({})
    }),
    run: async (_deps: Kernel) => ({})
  }),
  defineList({
    url: '/v1/things',
    action: 'thing.list',
    access: 'user',
    summary: 'Lists.',
    schema: () => ({
      query: Type.Object({ name: Type.Optional(Type.String()) }, { additionalProperties: false }),
      row: Type.Integer()
    }),
    run: async (_deps: Kernel) => []
  })
]

const documentOf = async (t: Test, given = routes, codes: readonly ErrorCode[] = []) => {
  const { http } = await httpFixture(t, { routes: given, codes })
  await http.app.ready()
  return JSON.parse(JSON.stringify(http.document()))
}

t.test('the document matches the validation', async t => {
  const { openapi, paths, components } = await documentOf(t)
  const { put, delete: remove } = paths['/v1/things/{id}']
  const names = (operation: { parameters: { name?: string; $ref?: string }[] }) =>
    operation.parameters.map(({ name, $ref }) => name ?? $ref?.split('/').at(-1))

  t.match(openapi, /^3\.1\./)
  t.same(Object.keys(paths), ['/v1/things/{id}', '/v1/auth/hello', '/v1/things'])
  t.match(put, {
    operationId: 'thing.put',
    tags: ['thing'],
    summary: 'Puts a thing',
    description: 'Puts a thing.\n\nAccess: superadmins.',
    security: [{ bearer: [] }, { session: [] }]
  })
  t.same(put.requestBody.content['application/json'].schema, { $ref: '#/components/schemas/ThingPutBody' })
  const { required, properties } = components.schemas.ThingPutBody
  t.same(required, ['code', 'even', 'nothing'])
  t.same(properties.code, { type: 'string' })
  t.same(properties.even, { type: 'string' })
  t.same(properties.nothing, { anyOf: [{ type: 'string' }, { type: 'null' }] })
  t.same(names(put), ['id', 'IdempotencyKey', 'IfMatch', 'SessionKey', 'Traceparent'])
  t.same(Object.keys(put.responses['200'].headers), ['ETag', 'X-Svc-Token-Expires'])
  t.equal(remove.requestBody, undefined)
  t.equal(remove.responses['204'].content, undefined)
  t.match(paths['/v1/auth/hello'].post, { security: [], parameters: [], requestBody: { required: false } })
  t.same(names(paths['/v1/things'].get), ['name', 'limit', 'cursor', 'SessionKey', 'Traceparent'])
})

const thingGone = defineCode('thing_gone', 404, 8)
const thingBusy = defineCode('thing_busy', 409, 5)

t.test(
  'an operation lists the errors of the host, of its schemas, and its own, each with its codes',
  async t => {
    const [put, remove, ...others] = routes as [(typeof routes)[number], (typeof routes)[number]]
    const declared = { ...remove, schema: () => ({ ...remove.schema(() => []), errors: [thingGone] }) }
    const codes = [thingGone, thingBusy, defineCode('thing_code', 400, 3)]

    const { paths, components } = await documentOf(t, [put, declared, ...others], codes)

    const { put: change, delete: removal } = paths['/v1/things/{id}']
    const described = (operation: { responses: Record<string, { $ref?: string; description?: string }> }) =>
      Object.fromEntries(
        Object.entries(operation.responses).map(([status, { $ref, description }]) => [
          status,
          description ?? components.responses[$ref?.split('/').at(-1) ?? ''].description
        ])
      )
    t.same(
      Object.keys(removal.responses),
      '204 400 401 403 404 408 409 412 413 415 421 422 429 431 500 503'.split(' ')
    )
    t.equal(described(removal)['404'], 'Not Found: `not_found`, `thing_gone`.')
    t.notMatch(described(removal)['409'], /thing_busy/)
    t.match(
      described(change),
      { 400: /`thing_code`/, 404: /`thing_gone`/, 409: /`thing_busy`/ },
      'all of the plugin'
    )
    t.same(
      Object.keys(paths['/v1/things'].get.responses),
      '200 400 401 403 404 408 409 421 429 431 500 503'.split(' ')
    )
    t.match(components.schemas.ThingGoneError, {
      allOf: [
        { $ref: '#/components/schemas/Error' },
        { properties: { error: { properties: { code: { const: 'thing_gone' } } } } }
      ]
    })
  }
)

t.test('examples are made of those of properties; a named schema is there once', async t => {
  const Thing = Type.Object(
    {
      id: Type.String({ examples: ['one'] }),
      kind: Type.Union([Type.Literal('a'), Type.Literal('b')]),
      tags: Type.Optional(Type.Record(Type.String(), Type.String())),
      size: Type.Optional(Type.Integer({ minimum: 3 })),
      since: Type.Union([Type.String({ description: 'When.', examples: ['now'] }), Type.Null()])
    },
    { $id: 'Thing', additionalProperties: false }
  )
  const route = {
    access: 'user',
    summary: 'Takes a thing.',
    run: async (_: Kernel) => ({}) as never
  } as const
  const { paths, components } = await documentOf(t, [
    defineRoute({
      ...route,
      ...{ method: 'POST', url: '/v1/a', action: 'a' },
      schema: () => ({ body: Thing, reply: Thing })
    }),
    defineRoute({
      ...route,
      ...{ method: 'GET', url: '/v1/b', action: 'b' },
      schema: () => ({ reply: Type.Array(Thing) })
    })
  ])

  const { requestBody, responses } = paths['/v1/a'].post
  t.same(requestBody.content['application/json'].example, { id: 'one', kind: 'a', since: 'now' })
  t.same(responses['200'].content['application/json'].example, {
    id: 'one',
    kind: 'a',
    tags: {},
    size: 3,
    since: 'now'
  })
  const ref = { $ref: '#/components/schemas/Thing' }
  t.same(requestBody.content['application/json'].schema, ref)
  t.same(paths['/v1/b'].get.responses['200'].content['application/json'].schema.items, ref)
  t.match(components.schemas.Thing.properties, {
    kind: { type: 'string', enum: ['a', 'b'] },
    tags: { additionalProperties: { type: 'string' } },
    since: { description: 'When.', anyOf: [{ type: 'string' }, { type: 'null' }] }
  })
})

t.test('a plugin that gives one name to two schemas is named', async t => {
  const route = (method: 'GET' | 'POST', reply: TSchema) =>
    defineRoute({
      ...{ method, url: '/v1/a', action: method, access: 'user', summary: 'A.' },
      schema: () => ({ reply }),
      run: async (_: Kernel) => ({})
    })
  const given = [route('GET', Type.Object({}, { $id: 'A' })), route('POST', Type.String({ $id: 'A' }))]

  await t.rejects(documentOf(t, given), { message: /^thing gives the \$id "A" to two different schemas$/ })
})

t.test('an error that the document does not list is logged once', async t => {
  const refuse = defineRoute({
    method: 'GET',
    url: '/v1/refusal',
    action: 'thing.refuse',
    access: 'public',
    summary: 'Refuses.',
    schema: () => ({ reply: Type.Unknown(), errors: [] }),
    run: async (_: Kernel) => {
      throw new Fault(thingBusy, 'no')
    }
  })
  const { send, log } = await httpFixture(t, { routes: [refuse], codes: [thingBusy] })

  for (let i = 0; i < 2; i++) t.match(await send('GET', '/v1/refusal'), { status: 409 })

  const found = log.filter(({ event }) => event === 'route.undeclared_error')
  t.match(found, [{ fields: { plugin: 'thing', action: 'thing.refuse', code: 'thing_busy' } }])
  t.equal(found.length, 1)
})

t.test('a schema that would ignore a misspelled field is refused at mount', async t => {
  const [put] = routes as [(typeof routes)[number]]
  const open = { ...put, schema: () => ({ body: Type.Object({}), reply: Type.Unknown() }) }

  await t.rejects(httpFixture(t, { routes: [open] }), { message: /thing\.put.*additionalProperties/ })
})
