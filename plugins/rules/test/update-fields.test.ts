// PUT of a rule changes `rate_limit`, and refuses each other field that differs.
import t from 'tap'
import type { RuleRecord } from '../api/rule-record.ts'
import { openRule, pool } from './every-field.ts'
import { type ErrorReply, rule } from './fixture.ts'

/** A fallback is invalid beside the pattern of this rule. */
const others = Object.keys(pool).filter(key => key !== 'rate_limit' && key !== 'sni_fallback')

t.test('labels, and every other field but rate_limit, cannot change by PUT', async t => {
  const { app, id } = await openRule(t)
  const before = await app.get(id)
  const put = (body: object) => app.call<RuleRecord & ErrorReply>('PUT', `/v1/rules/${id}`, body)
  const immutable = (field: string) => ({
    status: 400,
    body: { error: { code: 'validation.rule_immutable_field', details: { field } } }
  })

  for (const key of others) {
    const [wanted] = (pool[key] ?? [])
      .filter(value => JSON.stringify(value) !== JSON.stringify(before[key]))
      .slice(-1)
    const { etag: _, ...record } = before
    t.match(await put({ ...record, [key]: wanted }), immutable(`/${key}`), `${key} in a whole record`)
    t.match(await put({ rate_limit: null, [key]: wanted }), immutable(`/${key}`), `${key} beside rate_limit`)
    if (key === 'listen_port' || key === 'targets') continue
    t.match(await put({ [key]: wanted }), { status: 400 }, `${key} alone`)
  }
  t.strictSame(await app.get(id), before)
})

t.test('PUT leaves labels and times that it omits, and takes back what the record shows', async t => {
  const { app, id } = await openRule(t)
  const before = await app.get(id)
  const put = (body: object) => app.call<RuleRecord>('PUT', `/v1/rules/${id}`, body)
  const limited = { rate_limit: { concurrent_connections: 2 } }

  t.match(await put({ ...before, ...limited }), { status: 200, body: limited })
  t.match(await put({ ...rule, sni_pattern: 'B.example.org', rate_limit: null }), { status: 200 })
  t.match(await put({ rate_limit: {}, labels: before['labels'], expires_at: '2250-01-01T01:00:00+01:00' }), {
    status: 200
  })
  t.match(await put(rule), { status: 400, body: { error: { details: { field: '/sni_pattern' } } } })
  t.strictSame((await app.get(id)).etag, before.etag)
})

t.test('a bulk patch with a property that no rule can change is 400', async t => {
  const { app, id } = await openRule(t)
  const before = await app.get(id)
  const bulk = (patch: object, more = {}) =>
    app.call('POST', '/v1/rules/bulk', {
      ids: [id],
      action: 'patch',
      patch: { prefer_ipv6: true, ...patch },
      ...more
    })

  for (const [patch, code, field] of [
    [{ client: 'other' }, 'validation.rule_immutable_field', '/patch/client'],
    [{ client: 'edge' }, 'validation.rule_immutable_field', '/patch/client'],
    [{ protocol: 'udp' }, 'validation.rule_immutable_field', '/patch/protocol'],
    [{ owner: null }, 'validation.rule_immutable_field', '/patch/owner'],
    [{ state: 'active' }, 'validation.unknown_field', '/patch/state'],
    [{ rule_id: id }, 'validation.unknown_field', '/patch/rule_id']
  ] as const)
    for (const more of [{}, { atomic: true }, { dry_run: true }])
      t.match(
        await bulk(patch, more),
        { status: 400, body: { error: { code, details: { field } } } },
        JSON.stringify({ patch, ...more })
      )
  t.strictSame(await app.get(id), before)
  t.match(await bulk({}), { status: 200, body: { results: [{ status: 200 }] } })
})
