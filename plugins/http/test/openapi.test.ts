import t from 'tap'
import { Type } from 'typebox'
import { defineList } from '../../../kernel/http/list-route.ts'
import { defineRoute } from '../../../kernel/http/route.ts'
import type { Kernel } from '../../../kernel/plugin.ts'
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

t.test('the document matches the validation', async t => {
  const { http } = await httpFixture(t, { routes })
  await http.app.ready()

  const { openapi, paths } = JSON.parse(JSON.stringify(http.document()))
  const { put, delete: remove } = paths['/v1/things/{id}']
  const names = (operation: { parameters: { name: string }[] }) =>
    operation.parameters.map(({ name }) => name)

  t.equal(openapi, '3.1.0')
  t.same(Object.keys(paths), ['/v1/things/{id}', '/v1/auth/hello', '/v1/things'])
  t.match(put, {
    operationId: 'thing.put',
    tags: ['thing'],
    summary: 'Puts a thing.',
    security: [{ bearer: [] }, { session: [] }]
  })
  const { schema } = put.requestBody.content['application/json']
  t.same(schema.required, ['code', 'even', 'nothing'])
  t.same(schema.properties.code, { type: 'string' })
  t.same(schema.properties.even, { type: 'string' })
  t.same(schema.properties.nothing, { anyOf: [{ type: 'string' }, { type: 'null' }] })
  t.same(names(put), ['id', 'Idempotency-Key', 'If-Match'])
  t.same(Object.keys(put.responses), ['200', '412', 'default'])
  t.same(Object.keys(put.responses['200'].headers), ['ETag'])
  t.equal(remove.requestBody, undefined)
  t.equal(remove.responses['204'].content, undefined)
  t.match(paths['/v1/auth/hello'].post, {
    security: [],
    parameters: undefined,
    requestBody: { required: false }
  })
  t.same(names(paths['/v1/things'].get), ['name', 'limit', 'cursor'])
})

t.test('a schema that would ignore a misspelled field is refused at mount', async t => {
  const [put] = routes as [(typeof routes)[number]]
  const open = { ...put, schema: () => ({ body: Type.Object({}), reply: Type.Unknown() }) }

  await t.rejects(httpFixture(t, { routes: [open] }), { message: /thing\.put.*additionalProperties/ })
})
