import { setImmediate } from 'node:timers/promises'
import t from 'tap'
import type { Metric } from '../../../kernel/metrics.ts'
import { readExposition } from '../../../test/support/exposition.ts'
import { render } from '../format.ts'

const gauge: Metric = {
  name: 'a',
  type: 'gauge',
  help: 'A.',
  labels: [],
  samples: [{ labelValues: [], value: 1 }]
}

async function text(...metrics: readonly Metric[]): Promise<string> {
  let all = ''
  for await (const chunk of render(metrics)) all += chunk
  return all
}

t.test('a metric is a header and one line for each sample', async t => {
  const metric: Metric = {
    name: 'svc_x_total',
    type: 'counter',
    help: 'One\nand \\ two.',
    labels: ['client', 'name'],
    samples: [
      { labelValues: ['c1', 'plain'], value: 2 ** 53 - 1 },
      { labelValues: ['c2', 'a "b" \\ \n c'], value: 0.5 }
    ]
  }

  t.equal(
    await text(metric, gauge),
    [
      '# HELP svc_x_total One\\nand \\\\ two.',
      '# TYPE svc_x_total counter',
      'svc_x_total{client="c1",name="plain"} 9007199254740991',
      'svc_x_total{client="c2",name="a \\"b\\" \\\\ \\n c"} 0.5',
      '# HELP a A.',
      '# TYPE a gauge',
      'a 1',
      ''
    ].join('\n')
  )
})

t.test('histogram buckets are cumulative', async t => {
  const value = { bounds: [0.1, 1], counts: [3, 0, 2], sum: 7.5 }
  const metric = {
    ...gauge,
    type: 'histogram',
    labels: ['c'],
    samples: [{ labelValues: ['x'], value }]
  } as const

  t.same(
    [...(readExposition(await text(metric)).get('a')?.series ?? [])],
    [
      ['_bucket{c="x",le="0.1"}', 3],
      ['_bucket{c="x",le="1"}', 3],
      ['_bucket{c="x",le="+Inf"}', 5],
      ['_sum{c="x"}', 7.5],
      ['_count{c="x"}', 5]
    ]
  )
})

t.test('other work runs while many samples are rendered', async t => {
  const samples = Array.from({ length: 50_000 }, (_, i) => ({ labelValues: [String(i)], value: i }))
  let iterations = 0
  let isOver = false
  const others = (async () => {
    for (; !isOver; iterations++) await setImmediate()
  })()

  const all = await text({ ...gauge, labels: ['i'], samples })
  isOver = true
  await others

  t.equal(all.split('\n').length, 50_003)
  t.ok(iterations > 20, `${iterations} iterations`)
})

t.test('the reader that the tests use takes only numbers for values', async t => {
  const read = (value: string): unknown =>
    readExposition(`# HELP a A.\n# TYPE a gauge\na ${value}\n`).get('a')?.series.get('')
  for (const value of ['0', '-1', '1.5', '1e+21', '2.5e-7']) t.equal(read(value), Number(value), value)

  for (const value of ['1.2.3', '1e', '1-2', '1.', '.5', '--1', ''])
    t.throws(() => read(value), { message: /not a sample/ }, value)
})
