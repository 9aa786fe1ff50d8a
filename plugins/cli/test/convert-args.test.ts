import t from 'tap'
import { Type } from 'typebox'
import { convertArgs } from '../program/convert-args.ts'

t.test('an invalid choice is refused with the list of choices', async t => {
  const bucket = Type.Optional(Type.Union([Type.Literal('1m'), Type.Literal('1h')]))
  const args = Type.Object({ bucket, size: Type.Optional(Type.Integer({ minimum: 0 })) })

  t.same(convertArgs(args, { bucket: '1h', size: '5' }), { bucket: '1h', size: 5 })
  t.same(convertArgs(args, { bucket: '1H' }), { bucket: '1h' }, 'in any case')
  t.throws(() => convertArgs(args, { bucket: '5m' }), { message: 'BUCKET must be one of 1m, 1h' })
  t.throws(() => convertArgs(args, { size: '-5' }), { message: 'SIZE must be >= 0' })
})

t.test('an argument that only resembles a number or a boolean is refused, not coerced', async t => {
  const args = Type.Object({ bytes: Type.Integer(), on: Type.Optional(Type.Boolean()) })

  for (const bytes of ['', 'true', '1.9', '1e3', '0x10', ' 1'])
    t.throws(
      () => convertArgs(args, { bytes }),
      { message: 'BYTES must be an integer' },
      JSON.stringify(bytes)
    )
  t.same(convertArgs(args, { bytes: '12', on: true }), { bytes: 12, on: true })
})
