// Every route that writes must be called on some page of the console, and every error of a route must have a text.
import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { openapiDocument } from '../../../config/build/openapi.ts'
import { errors as german } from '../web/text/de/errors.ts'
import { errors as english } from '../web/text/en/errors.ts'

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
  'POST /v1/auth/device': 'the command login',
  'POST /v1/auth/oidc/{name}/back-channel-logout': 'providers',
  'POST /v1/auth/device/token': 'the command login',
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
interface Document {
  readonly paths: Readonly<Record<string, object>>
  readonly components: { readonly schemas: Readonly<Record<string, object>> }
}
const { paths, components } = (await openapiDocument()) as Document
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

/** Codes that `parts/form/error-message.ts` treats by itself, and those of requests that only programs send. */
const withoutText =
  /^(store_unavailable|rate_limited|resource_changed|password_too_weak|password_change_required|csrf_.+|.+_unsupported_by_client|idempotency_.+|invalid_(json|form|cursor|limit|bucket|outcome|password_reset)|method_not_allowed|unsupported_media_type|headers_too_large|unknown_host|installer_unavailable|store_outcome_unknown|unhealthy|validation\.(schema|unknown_field|unknown_parameter|depth|idempotency_key|body_empty))$/

t.test('every error of a route has a text in both languages', async t => {
  const codes = Object.entries(components.schemas)
    .filter(([name]) => name.endsWith('Error'))
    .flatMap(([, schema]) => /"code":\{"(?:const|enum)":\[?"([^"]+)"/.exec(JSON.stringify(schema))?.[1] ?? [])
  const missing = (texts: Readonly<Record<string, string>>): readonly string[] =>
    codes.filter(code => !withoutText.test(code) && !Object.hasOwn(texts, code))

  t.ok(codes.length > 80, `${codes.length} codes`)
  t.same(missing(english), [])
  t.same(missing(german), [])
})
