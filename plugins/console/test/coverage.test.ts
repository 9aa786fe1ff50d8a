// Every route that writes must be called on some page of the console.
import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { openapiDocument } from '../../../config/build/openapi.ts'

/** Routes that another route replaces on the pages. */
const sameAs: Readonly<Record<string, string>> = {
  'PUT /v1/clients/{client_id}': 'PATCH /v1/clients/{client_id}',
  'PATCH /v1/clients/{client_id}/name': 'PATCH /v1/clients/{client_id}',
  'PUT /v1/rules/{rule_id}': 'PATCH /v1/rules/{rule_id}',
  'PUT /v1/rules/{rule_id}/definition': 'PATCH /v1/rules/{rule_id}'
}
/** Routes for programs only, with their use. */
const forPrograms: Readonly<Record<string, string>> = {
  'POST /v1/apply-leases': 'lock of the command apply',
  'PUT /v1/apply-leases/{lease_id}': 'lock of the command apply',
  'DELETE /v1/apply-leases/{lease_id}': 'lock of the command apply',
  'POST /v1/apply-checks': 'dry run of the command apply',
  'POST /v1/settings/certificate/rotate': 'the command cert rotate, which the page of settings shows'
}

const web = join(import.meta.dirname, '../web')
const sources = globSync('**/*.{ts,tsx}', { cwd: web, exclude: ['node_modules/**'] })
const called = new Set(
  sources.flatMap(file =>
    [...readFileSync(join(web, file), 'utf8').matchAll(/'((?:POST|PUT|PATCH|DELETE) \/v1\/[^']*)'/g)].map(
      ([, operation]) => operation
    )
  )
)
const { paths } = (await openapiDocument()) as { readonly paths: Readonly<Record<string, object>> }
const writing = Object.entries(paths).flatMap(([path, methods]) =>
  Object.keys(methods)
    .filter(method => /^(post|put|patch|delete)$/.test(method))
    .map(method => `${method.toUpperCase()} ${path}`)
)

t.test('every route that writes is called on a page', async t => {
  const missing = writing.filter(
    route => !called.has(route) && !Object.hasOwn(sameAs, route) && !Object.hasOwn(forPrograms, route)
  )

  t.ok(writing.length > 20)
  t.same(missing, [])
})

t.test('all exceptions are routes, and their replacements are called', async t => {
  const named = [...Object.keys(sameAs), ...Object.keys(forPrograms)]

  t.same(
    named.filter(route => !writing.includes(route)),
    []
  )
  t.same(
    Object.values(sameAs).filter(route => !called.has(route)),
    []
  )
})
