// The server checks body and query against their schemas, then the owner of a resource, then values, then whether the
// resource exists.
import t from 'tap'
import { accessFixture } from './access-fixture.ts'
import { rows } from './access-table.ts'
import { callers } from './callers.ts'

const unknown = '01ARZ3NDEKTSV4RRFFQ69G5FAV'
const long = 'é'.repeat(128)
const session = callers.find(({ name }) => name === 'superadmin')?.headers
const ada = { authorization: 'Bearer svct_ada' }
const rule = { listen_port: 1, targets: [{ host: '10.0.0.1', port: 1 }] }

/** Valid by the schema, but refused by the plugin. */
const invalid: readonly (readonly [route: string, body: object | undefined, status: number, code: string])[] =
  [
    [
      'PUT /v1/rules/:id',
      { ...rule, targets: [{ host: '0.0.0.0', port: 80 }] },
      400,
      'validation.target_host'
    ],
    ['PUT /v1/rules/:id', { ...rule, targets: [] }, 400, 'validation.targets_empty'],
    ['PUT /v1/rules/:id', { ...rule, protocol: 'icmp' }, 400, 'validation.protocol'],
    ['PUT /v1/rules/:id', { ...rule, listen_port: 9, listen_port_end: 8 }, 400, 'validation.range_invalid'],
    ['PUT /v1/rules/:id', { ...rule, sni_pattern: 'a*' }, 400, 'validation.sni_pattern_malformed'],
    ['PUT /v1/rules/:id', { targets: rule.targets }, 400, 'validation.rate_limit_missing'],
    ['PUT /v1/rules/:id', {}, 400, 'validation.body_empty'],
    [
      'PUT /v1/rules/:id',
      { rate_limit: { new_connections_burst: 1 } },
      400,
      'validation.rate_limit_burst_without_rate'
    ],
    ['POST /v1/users/:id/credentials', { label: long }, 400, 'validation.schema'],
    ['POST /v1/users/:id/password', { new_password: 'short' }, 422, 'password_too_short'],
    ['POST /v1/users/:id/password', { temporary: false }, 422, 'invalid_password_reset'],
    ['PATCH /v1/users/:id', { display_name: '' }, 422, 'invalid_display_name'],
    ['PUT /v1/clients/:id', { address: 'a b' }, 400, 'invalid_client_address'],
    ['PATCH /v1/clients/:id/name', { client_name: '' }, 400, 'invalid_client_name'],
    ['POST /v1/clients/:id/enrollment', { ttl_secs: 0 }, 400, 'invalid_enrollment_ttl'],
    ['PUT /v1/clients/:id/owners/:id/rate-limit', {}, 400, 'validation.rate_limit_empty'],
    [
      'PUT /v1/clients/:id/owners/:id/rate-limit',
      { bandwidth_in_burst_bytes: 1 },
      400,
      'validation.rate_limit_burst_without_rate'
    ],
    [
      'PUT /v1/users/:id/quotas/:id',
      { monthly_bytes: 1, billing_anchor: 99_999_999_999 },
      400,
      'invalid_billing_anchor'
    ],
    ['PATCH /v1/users/:id/quotas/:id', { monthly_bytes: -1 }, 400, 'invalid_quota_size'],
    ['GET /v1/users/:id/traffic?from=2&to=1', undefined, 400, 'invalid_time_range'],
    ['GET /v1/clients/:id/traffic?from=2&to=1', undefined, 400, 'invalid_time_range']
  ]

t.test('an invalid body or query is reported before an unknown resource', async t => {
  const { call } = await accessFixture(t)
  for (const [route, body, status, code] of invalid) {
    const [method, path = ''] = route.split(' ')

    const reply = await call(method as 'PUT', path.replaceAll(':id', unknown), body)

    t.match(reply, { status, body: { error: { code } } }, `${route} ${JSON.stringify(body)}`)
  }
  for (const { method, path, access } of rows.filter(({ method }) => method !== 'GET')) {
    if (access === 'public') continue
    const headers = access === 'session' ? session : undefined
    const url = path.replaceAll(/:\w+/g, unknown)
    const reply = await call(method as 'PUT', url, { no_such_field: 1 }, headers)
    t.match(
      reply,
      { status: 400, body: { error: { code: 'validation.unknown_field' } } },
      `${method} ${path}`
    )
  }
})

t.test(
  'a value of the wrong form is reported before a resource of another user, a wrong value after it',
  async t => {
    const { call, pathOf } = await accessFixture(t)
    const caller = { name: 'owner', role: 'user', groups: [], userId: 'ada', headers: ada } as const
    const foreign = await pathOf('/v1/rules/:rule_id', caller, 'foreign', 'shared')
    t.match(await call('POST', '/v1/users/zoe/credentials', { label: 1 }, ada), {
      status: 400,
      body: { error: { code: 'validation.schema' } }
    })
    for (const [method, path, body] of [
      ['PUT', foreign ?? '', { ...rule, targets: [] }],
      ['PUT', foreign ?? '', {}],
      ['PUT', foreign ?? '', { rate_limit: null }],
      ['POST', '/v1/users/zoe/credentials', { label: long }],
      ['GET', '/v1/users/zoe/traffic?from=2&to=1', undefined],
      ['GET', '/v1/users/zoe/traffic?from=0&to=1', undefined]
    ] as const)
      t.match(
        await call(method, path, body, ada),
        { status: 403, body: { error: { code: 'not_owner' } } },
        path
      )
  }
)
