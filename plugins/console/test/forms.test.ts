// What forms and charts make of values: without a browser.
import t from 'tap'
import { sectionsOf } from '../web/pages/rules/form/sections.ts'
import { nothingAt, rateOf, withPoint } from '../web/parts/chart/points.ts'
import { kindOf, settled, titleOf, unitOf } from '../web/parts/schema-form/schema.ts'
import { given, isSame, patchOf } from '../web/parts/schema-form/values.ts'

t.test('a patch has what was changed, and null for what was taken away', async t => {
  const before = {
    labels: { env: 'prod', old: 'x' },
    targets: [{ host: 'a', port: 1 }],
    paused: false,
    gone: 1
  }

  t.strictSame(patchOf(before, { ...before }), {})
  t.strictSame(
    patchOf(before, {
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

t.test('a value that is not given is not sent', async t => {
  t.strictSame(given({ a: '', b: { c: undefined }, d: false, e: [], f: 0 }), { d: false, e: [], f: 0 })
  t.equal(given({ a: { b: null } }), undefined)
})

t.test('a control follows from the schema, also behind a reference and beside null', async t => {
  const schemas = { Limit: { type: 'object', properties: { a: { type: 'integer' } } } }
  const of = (schema: object) => kindOf(settled(schema, schemas))

  t.equal(of({ anyOf: [{ $ref: '#/components/schemas/Limit' }, { type: 'null' }] }), 'object')
  t.equal(of({ anyOf: [{ type: 'string', enum: ['keep', 'cut'] }, { type: 'null' }] }), 'choice')
  t.equal(of({ type: 'string', format: 'date-time' }), 'time')
  t.equal(of({ type: 'array', items: { type: 'string' } }), 'texts')
  t.equal(of({ type: 'object', additionalProperties: { type: 'string' } }), 'map')
  t.equal(of({ type: 'array', items: { type: 'object' } }), 'json')
  t.equal(titleOf('idle_secs', {}), 'Idle secs')
  t.equal(unitOf('bandwidth_in_bps'), 'bit/s')
})

t.test("a field of a stranger's plugin stands in the last section", async t => {
  t.strictSame(sectionsOf(['labels', 'note_idle', 'listen_port']), [
    { name: 'record', keys: ['labels'] },
    { name: 'more', keys: ['note_idle'] }
  ])
})

t.test('a chart has a gap where nothing was read, and no rate before there is time for one', async t => {
  const first = withPoint([], { at: 1, values: [5] }, 12)

  t.strictSame(withPoint(first, { at: 6, values: [6] }, 12).length, 2)
  t.strictSame(withPoint(first, { at: 60, values: [6] }, 12)[1], nothingAt(2, 1))
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
