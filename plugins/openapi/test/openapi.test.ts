import t from 'tap'
import { testServer } from '../../../kit/test-server.ts'

interface Document {
  readonly openapi: string
  readonly paths: Readonly<Record<string, Readonly<Record<string, { readonly operationId: string }>>>>
}

t.test('the document is public, and names every route of every loaded plugin', async t => {
  const { call } = await testServer(t)

  const { status, body } = await call<Document>('GET', '/v1/openapi.json', undefined, { authorization: '' })

  t.equal(status, 200)
  t.match(body.openapi, /^3\.1\./)
  t.match(body.paths, {
    '/v1/openapi.json': { get: { operationId: 'openapi.read', security: [] } },
    '/v1/rules/{rule_id}/stats': {
      get: { operationId: 'rule.stats', security: [{ bearer: [] }, { session: [] }] }
    }
  })
})

t.test('operations have unique ids', async t => {
  const { call } = await testServer(t)

  const { body } = await call<Document>('GET', '/v1/openapi.json')

  const ids = Object.values(body.paths).flatMap(path =>
    Object.values(path).map(({ operationId }) => operationId)
  )
  t.same(
    ids.filter((id, i) => ids.indexOf(id) !== i),
    []
  )
})

t.test('without the plugin there is no document', async t => {
  const { call } = await testServer(t, { plugins: ['users', 'clients', 'rules'] })

  t.match(await call('GET', '/v1/openapi.json'), { status: 404 })
})
