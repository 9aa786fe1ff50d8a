// The API types of commands match the OpenAPI document.
import t from 'tap'
import { openapiDocument } from '../../../config/build/openapi.ts'
import { type OpenapiDocument, operationTypes } from '../../../config/build/operation-types.ts'
import { testServer } from '../../../kit/test-server.ts'

t.test('the types of the API are made from the document that a server gives', async t => {
  const { call } = await testServer(t)

  const { body } = await call<OpenapiDocument>('GET', '/v1/openapi.json')

  const document = JSON.parse(JSON.stringify(await openapiDocument()))
  t.same({ ...body, servers: null }, { ...document, servers: null })
  t.match(
    operationTypes(body),
    "  'GET /v1/rules/{rule_id}': {\n    parts: { path: { rule_id: string } }\n    reply: Rule"
  )
})

t.test('an operation has its path, query, body, reply and event', async t => {
  const id = { name: 'id', in: 'path', required: true, schema: { type: 'string' } }
  const mode = { name: 'mode', in: 'query', schema: { enum: ['a', "it's"] } }
  const ref = { $ref: '#/components/schemas/Rule' }
  const text = operationTypes({
    paths: {
      '/v1/rules/{id}': {
        put: {
          parameters: [id, mode],
          requestBody: { required: true, content: { 'application/json': { schema: ref } } },
          responses: { 200: { content: { 'application/json': { schema: { type: 'array', items: ref } } } } }
        },
        get: {
          parameters: [id],
          responses: { 200: { content: { 'text/event-stream': { schema: ref } } } }
        }
      }
    },
    components: {
      schemas: {
        Rule: {
          type: 'object',
          required: ['port'],
          properties: {
            port: { type: 'integer' },
            note: { type: ['string', 'null'] },
            at: { type: 'object' }
          }
        }
      }
    }
  })

  t.equal(
    text.split('\n').slice(2).join('\n'),
    `export interface Operations {
  'GET /v1/rules/{id}': {
    parts: { path: { id: string } }
    reply: undefined
    event: Rule
  }
  'PUT /v1/rules/{id}': {
    parts: { path: { id: string }; query?: { mode?: 'a' | 'it\\'s' }; body: Rule }
    reply: (Rule)[]
  }
}

type Rule = {
  port: number
  note?: string | null
  at?: Record<string, unknown>
}
`
  )
})
