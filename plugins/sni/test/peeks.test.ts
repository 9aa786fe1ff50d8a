import t from 'tap'
import type { Histogram } from '../../../kernel/metrics.ts'
import { openPeeks } from '../peeks.ts'
import { boundsMs, type Peeks } from '../wire.ts'

const said = (first: number, sum_ms: number): Peeks => ({ counts: [first, ...boundsMs.map(() => 0)], sum_ms })

async function shown({ metrics }: ReturnType<typeof openPeeks>, clientId: string) {
  const [figure] = await metrics()
  const reading = [...(figure?.samples ?? [])].find(({ labelValues }) => labelValues[0] === clientId)
  if (!reading) throw new Error(`nothing is shown of ${clientId}`)
  const { counts, sum } = reading.value as Histogram
  return [counts[0], Number(sum.toFixed(6))]
}

t.test('what one agent awaited is shown in seconds, and never goes back when it starts again', async t => {
  const peeks = openPeeks()
  const first = { clientId: 'edge', instanceId: 'a' }

  peeks.receive(first, said(3, 30))
  peeks.receive(first, said(5, 50))
  t.same(await shown(peeks, 'edge'), [5, 0.05])
  peeks.receive({ ...first, instanceId: 'b' }, said(1, 7))
  t.same(await shown(peeks, 'edge'), [6, 0.057])
  peeks.receive({ clientId: 'other', instanceId: 'c' }, said(2, 2))
  t.same(await shown(peeks, 'edge'), [6, 0.057])
  peeks.forgetClient('edge')
  t.equal([...((await peeks.metrics())[0]?.samples ?? [])].length, 1)
})
