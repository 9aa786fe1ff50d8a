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

interface Schema {
  readonly properties?: Readonly<Record<string, Schema>>
  readonly description?: string
  readonly $ref?: string
  readonly items?: Schema
  readonly anyOf?: readonly Schema[]
}

t.test('schemas have names, properties have descriptions, and bodies have examples', async t => {
  const { call } = await testServer(t)

  const { body } = await call<{
    paths: Record<string, Record<string, Operation>>
    components: { schemas: Record<string, Schema> }
    tags: { name: string; description: string }[]
  }>('GET', '/v1/openapi.json')

  const { schemas } = body.components
  for (const name of ['Client', 'Credential', 'Grant', 'Quota', 'Rule', 'RuleDefinition', 'Target', 'User'])
    t.ok(schemas[name], name)
  const undescribed = Object.entries(schemas).flatMap(([name, schema]) =>
    name.endsWith('Error') ? [] : undescribedIn(schema, name)
  )
  t.same(undescribed, [])
  for (const [path, methods] of Object.entries(body.paths))
    for (const [method, { tags, requestBody, responses }] of Object.entries(methods)) {
      t.ok(
        body.tags.some(({ name, description }) => name === tags[0] && !description.startsWith('Routes of')),
        path
      )
      const success = Object.entries(responses).find(([status]) => status.startsWith('2'))?.[1]
      for (const content of [requestBody?.content, success?.content])
        for (const media of Object.values(content ?? {})) t.ok('example' in media, `${method} ${path}`)
    }
})

interface Operation {
  readonly tags: readonly string[]
  readonly requestBody?: { readonly content: Readonly<Record<string, object>> }
  readonly responses: Readonly<Record<string, { readonly content?: Readonly<Record<string, object>> }>>
}

function undescribedIn({ properties = {}, items, anyOf = [] }: Schema, at: string): string[] {
  const own = Object.entries(properties).flatMap(([key, part]) => [
    ...(part.description || part.$ref || part.anyOf?.[0]?.$ref ? [] : [`${at}.${key}`]),
    ...undescribedIn(part, `${at}.${key}`)
  ])
  return [...own, ...[...(items ? [items] : []), ...anyOf].flatMap(part => undescribedIn(part, at))]
}
