// Logic of forms and charts, without a browser.
import t from 'tap'
import { groupIntoSections } from '../web/pages/rules/form/sections.ts'
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
