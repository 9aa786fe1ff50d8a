import t from 'tap'
import { type TSchema, Type } from 'typebox'
import { violationsOf } from '../request/violations.ts'

const closed = { additionalProperties: false }
const Days = Type.Array(Type.Union([Type.Literal('mon'), Type.Literal('tue')]), {
  maxItems: 7,
  uniqueItems: true
})
const Window = Type.Object({ days: Days, note: Type.Optional(Type.String({ maxLength: 5 })) }, closed)
const Body = Type.Object(
  {
    windows: Type.Optional(Type.Array(Window, { maxItems: 4 })),
    labels: Type.Optional(Type.Record(Type.String(), Type.String(), { maxProperties: 3 })),
    address: Type.Optional(
      Type.Union([Type.String({ maxLength: 2 }), Type.String({ pattern: '^a+$', maxLength: 9 })])
    )
  },
  closed
)

/** Counts the reads of elements of `list`. */
function counted<T>(list: T[]): { readonly list: T[]; readonly reads: () => number } {
  let reads = 0
  const get = (target: T[], key: string | symbol): unknown => {
    if (typeof key === 'string' && /^\d+$/.test(key)) reads++
    return Reflect.get(target, key)
  }
  return { list: new Proxy(list, { get }), reads: () => reads }
}

const reasonsOf = (schema: TSchema, value: unknown): string[] =>
  violationsOf(schema, value).map(({ field, reason }) => `${field} ${reason}`)

t.test('a list that is too long is refused alone, and none of its elements is read', async t => {
  const { list, reads } = counted(Array.from({ length: 170_000 }, () => 'mon'))

  t.same(reasonsOf(Body, { windows: [{ days: list }], nmae: 1 }), ['/windows/0/days maxItems'])
  t.equal(reads(), 0)
})

t.test('a text or an object that is too long is refused before anything else', async t => {
  const labels = { a: '1', b: '2', c: '3', d: 4 }

  t.same(reasonsOf(Body, { labels, windows: 'x' }), ['/labels maxProperties'])
  t.same(reasonsOf(Body, { windows: [{ days: 1, note: 'abcdef' }] }), ['/windows/0/note maxLength'])
  t.same(reasonsOf(Body, { windows: [{ days: [], note: '😀😀😀😀😀' }] }), [])
})

t.test('a value that one alternative accepts is not refused for the size of another', async t => {
  t.same(reasonsOf(Body, { address: 'aaaaa' }), [])
  t.same(reasonsOf(Body, { address: 'bbbbb' }), ['/address maxLength'])
})

t.test('a long list of wrong elements gives 16 violations, and later elements are not read', async t => {
  const { list, reads } = counted(Array.from({ length: 50_000 }, () => ({})))
  const schema = Type.Object({ targets: Type.Array(Type.Object({ port: Type.Integer() })) })

  t.same(
    reasonsOf(schema, { targets: list }),
    Array.from({ length: 16 }, (_, at) => `/targets/${at}/port required`)
  )
  t.ok(reads() <= 50_000 + 100, `${reads()} reads`) // the sizes of all, then the first ones
})

t.test('one wrong element among many is found with a few reads of each', async t => {
  const right = Array.from({ length: 50_000 }, () => ({ port: 1 }))
  const { list, reads } = counted<object>([...right, { port: '1' }])
  const schema = Type.Object({ targets: Type.Array(Type.Object({ port: Type.Integer() })) })

  t.same(reasonsOf(schema, { targets: list }), ['/targets/50000/port type'])
  t.ok(reads() <= 4 * list.length, `${reads()} reads`)
})

t.test('many duplicates are one violation', async t => {
  const schema = Type.Object({ names: Type.Array(Type.String(), { uniqueItems: true }) })

  t.same(reasonsOf(schema, { names: Array.from({ length: 20_000 }, () => 'a') }), ['/names uniqueItems'])
  t.same(reasonsOf(schema, { names: ['a', 'b'] }), [])
})

t.test('unknown fields come first, each with its place', async t => {
  const unknown = Object.fromEntries(Array.from({ length: 300 }, (_, at) => [`x${at}`, at]))

  const found = reasonsOf(Body, { windows: 1, ...unknown })
  t.equal(found.length, 16)
  t.equal(found[0], '/x0 additionalProperties')
  t.same(reasonsOf(Body, { windows: [{ days: [] }, { days: ['sun'], dyas: [] }], labels: 1 }), [
    '/windows/1/dyas additionalProperties',
    '/windows/1/days/0 const',
    '/labels type'
  ])
})

t.test('refinements are asked only about values that match the rest of their schema', async t => {
  const schema = Type.Refine(
    Type.Object({ low: Type.Integer(), high: Type.Integer() }),
    ({ low, high }) => low.toFixed() <= high.toFixed(),
    () => 'low must not exceed high'
  )

  t.match(violationsOf(schema, { low: 2, high: 1 }), [
    { field: '', reason: 'format', message: 'low must not exceed high' }
  ])
  t.same(reasonsOf(schema, { low: 'a', high: 1 }), ['/low type'])
})

t.test('keywords of other kinds are judged as well', async t => {
  t.same(reasonsOf(Type.Intersect([Type.Object({ a: Type.String() }), Type.Object({})]), { a: 1 }), [
    '/a type'
  ])
  t.same(reasonsOf(Type.Tuple([Type.String(), Type.Integer()]), ['a', 'b']), ['/1 type'])
  t.same(reasonsOf(Type.Object({ mode: Type.Enum(['slow', 'fast']) }), { mode: 'x' }), ['/mode enum'])
  t.same(reasonsOf({ not: { type: 'string' } }, 'a'), [' not'])
  t.match(violationsOf(Type.Object({}, { unevaluatedProperties: false }), { a: 1 }), [{ field: '' }])
})
