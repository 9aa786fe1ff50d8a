import t from 'tap'
import { rowBatches } from '../../kernel/store/sql/row-batches.ts'

t.test('any number of rows needs only a few statement lengths, so that statements can be prepared', t => {
  for (const values of [1, 2, 5, 14, 15]) {
    const lengths = new Set<number>()
    for (const count of [...Array(300).keys(), 960]) {
      const rows = Array.from({ length: count }, (_, at) => at)
      const cut = [...rowBatches(rows, values)]
      t.same(cut.flat(), rows)
      for (const { length } of cut) lengths.add(length)
    }
    t.ok(lengths.size <= 8, `${lengths.size} lengths`)
    t.ok(Math.max(...lengths) * values <= 1_000)
  }
  t.end()
})
