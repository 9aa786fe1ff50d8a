import t from 'tap'
import type { Histogram } from '../../../kernel/metrics.ts'
import { openPeeks } from '../peeks.ts'
import { boundsMs, type Peeks } from '../wire.ts'

const histogram = (first: number, sum_ms: number): Peeks => ({
  counts: [first, ...boundsMs.map(() => 0)],
  sum_ms
})

async function shown({ metrics }: ReturnType<typeof openPeeks>, clientId: string) {
  const [metric] = await metrics()
  const sample = [...(metric?.samples ?? [])].find(({ labelValues }) => labelValues[0] === clientId)
  if (!sample) throw new Error(`no sample of ${clientId}`)
  const { counts, sum } = sample.value as Histogram
  return [counts[0], Number(sum.toFixed(6))]
}

t.test('the wait times of an agent are shown in seconds, and never decrease when it restarts', async t => {
  const peeks = openPeeks()
  const first = { clientId: 'edge', instanceId: 'a' }

  peeks.receive(first, histogram(3, 30))
  peeks.receive(first, histogram(5, 50))
  t.same(await shown(peeks, 'edge'), [5, 0.05])
  peeks.receive({ ...first, instanceId: 'b' }, histogram(1, 7))
  t.same(await shown(peeks, 'edge'), [6, 0.057])
  peeks.receive({ clientId: 'other', instanceId: 'c' }, histogram(2, 2))
  t.same(await shown(peeks, 'edge'), [6, 0.057])
  peeks.forgetClient('edge')
  t.equal([...((await peeks.metrics())[0]?.samples ?? [])].length, 1)
})
