// The types by which commands call the API are those of the document.
import { readFileSync } from 'node:fs'
import t from 'tap'
import { openapiDocument } from '../../../config/build/openapi.ts'
import {
  type OpenapiDocument,
  operationTypes,
  operationTypesFile
} from '../../../config/build/operation-types.ts'
import { testServer } from '../../../kit/test-server.ts'

t.test(
  'platform/api/operator-api.ts has the types of the document that a server gives; else npm run types',
  async t => {
    const { call } = await testServer(t)

    const { body } = await call<OpenapiDocument>('GET', '/v1/openapi.json')

    const document = JSON.parse(JSON.stringify(await openapiDocument()))
    t.same({ ...body, servers: null }, { ...document, servers: null })
    t.equal(operationTypes(body), readFileSync(operationTypesFile, 'utf8'))
  }
)

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
