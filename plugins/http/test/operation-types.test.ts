// The types by which commands call the API are those of the document.
import { readFileSync } from 'node:fs'
import t from 'tap'
import { openapiDocument, typesFile, typesOf } from '../../../config/build/openapi.ts'
import { testServer } from '../../../kit/test-server.ts'

t.test(
  'platform/api/operator-api.ts has the types of the document that a server gives; else npm run openapi',
  async t => {
    const { call } = await testServer(t)

    const { body } = await call<{ servers: unknown }>('GET', '/v1/openapi.json')

    const document = JSON.parse(JSON.stringify(await openapiDocument()))
    t.same({ ...body, servers: null }, { ...document, servers: null })
    t.equal(await typesOf(body), readFileSync(typesFile, 'utf8'))
  }
)
