// Logic of forms and charts, without a browser.
import t from 'tap'
import { downDuring, outagesIn } from '../web/pages/rules/detail/target-history.ts'
import { groupIntoSections } from '../web/pages/rules/form/sections.ts'
import { targetPropertiesIn } from '../web/pages/rules/form/target-properties.ts'
import { gapAt, rateOf, withPoint } from '../web/parts/chart/points.ts'
import { controlKind, resolveSchema, titleOf, unitOf } from '../web/parts/schema-form/schema.ts'
import { isSame, toMergePatch, withoutEmpty } from '../web/parts/schema-form/values.ts'

t.test('a merge patch contains changed values, and null for removed ones', async t => {
  const before = {
    labels: { env: 'prod', old: 'x' },
    targets: [{ host: 'a', port: 1 }],
    paused: false,
    gone: 1
  }

  t.strictSame(toMergePatch(before, { ...before }), {})
  t.strictSame(
    toMergePatch(before, {
      labels: { env: 'test' },
      targets: [{ host: 'a', port: 2 }],
      paused: false,
      rate_limit: { concurrent_connections: 5 }
    }),
    {
      labels: { env: 'test', old: null },
      targets: [{ host: 'a', port: 2 }],
      gone: null,
      rate_limit: { concurrent_connections: 5 }
    }
  )
  t.ok(isSame({ a: [1, { b: null }] }, { a: [1, {}] }))
})

t.test('empty values are not sent', async t => {
  t.strictSame(withoutEmpty({ a: '', b: { c: undefined }, d: false, e: [], f: 0 }), { d: false, e: [], f: 0 })
  t.equal(withoutEmpty({ a: { b: null } }), undefined)
})

t.test('the control follows from the schema, through references and nullable types', async t => {
  const schemas = { Limit: { type: 'object', properties: { a: { type: 'integer' } } } }
  const of = (schema: object) => controlKind(resolveSchema(schema, schemas))

  t.equal(of({ anyOf: [{ $ref: '#/components/schemas/Limit' }, { type: 'null' }] }), 'object')
  t.equal(of({ anyOf: [{ type: 'string', enum: ['keep', 'cut'] }, { type: 'null' }] }), 'choice')
  t.equal(of({ type: 'string', format: 'date-time' }), 'time')
  t.equal(of({ type: 'array', items: { type: 'string' } }), 'texts')
  t.equal(of({ type: 'object', additionalProperties: { type: 'string' } }), 'map')
  t.equal(of({ type: 'array', items: { type: 'object' } }), 'json')
  t.equal(titleOf('idle_secs', {}), 'Idle secs')
  t.equal(unitOf('bandwidth_in_bps'), 'bit/s')
})

t.test('a field of an external plugin appears in the last section', async t => {
  t.strictSame(groupIntoSections(['labels', 'note_idle', 'listen_port']), [
    { name: 'record', keys: ['labels'] },
    { name: 'more', keys: ['note_idle'] }
  ])
})

t.test('a chart has a gap after a pause, and no rate before there is enough data', async t => {
  const first = withPoint([], { at: 1, values: [5] }, 12)

  t.strictSame(withPoint(first, { at: 6, values: [6] }, 12).length, 2)
  t.strictSame(withPoint(first, { at: 60, values: [6] }, 12)[1], gapAt(2, 1))
  t.equal(rateOf([{ at: 0, totals: [0] }]), null)
  t.equal(
    rateOf([
      { at: 0, totals: [0] },
      { at: 5000, totals: [50] }
    ]),
    null
  )
  t.strictSame(
    rateOf([
      { at: 0, totals: [0] },
      { at: 5000, totals: [50] },
      { at: 10_000, totals: [100] }
    ]),
    [10]
  )
})

t.test('the health of a rule counts each target that was down during a minute', async t => {
  const change = (secs: number, target: string, from: string, to: string) => ({
    ts: new Date(secs * 1000).toISOString(),
    from,
    to,
    details: { target }
  })
  const outages = outagesIn([
    change(500, 'b:1', 'healthy', 'ejected'),
    change(130, 'a:1', 'failed', 'healthy'),
    change(100, 'a:1', 'healthy', 'failed'),
    change(50, 'c:1', 'failed', 'healthy'),
    { ...change(40, '', '', ''), details: { field: 'targets' } }
  ])

  t.equal(downDuring(outages, 0, 60), 1, 'the target was down before its first entry')
  t.equal(downDuring(outages, 60, 60), 1)
  t.equal(downDuring(outages, 120, 60), 1, 'a part of a minute counts')
  t.equal(downDuring(outages, 180, 60), 0)
  t.equal(downDuring(outages, 540, 60), 1, 'the outage continues')
})

t.test('the form offers the properties that plugins add to targets', async t => {
  const color = { anyOf: [{ type: 'string' }, { type: 'null' }] }
  const items = {
    type: 'object',
    properties: { host: { type: 'string' }, weight: { type: 'integer' }, color }
  }
  const schemas = { RuleCreate: { properties: { targets: { type: 'array', items } } } }

  t.strictSame(targetPropertiesIn(schemas), { color })
  t.strictSame(targetPropertiesIn(null), {})
})
