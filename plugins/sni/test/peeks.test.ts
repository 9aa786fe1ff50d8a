import t from 'tap'
import type { Histogram } from '../../../kernel/metrics.ts'
import { fakeClock } from '../../../kit/fake-clock.ts'
import { openPeeks } from '../peeks.ts'
import { boundsMs, type Peeks } from '../wire.ts'

const histogram = (first: number, sum_ms: number): Peeks => ({
  counts: [first, ...boundsMs.map(() => 0)],
  sum_ms
})

const write = (): void => {}
const quiet = { clock: fakeClock(0), log: { debug: write, info: write, warn: write, error: write } }

async function shown({ metrics }: ReturnType<typeof openPeeks>, clientId: string) {
  const [metric] = await metrics()
  const sample = [...(metric?.samples ?? [])].find(({ labelValues }) => labelValues[0] === clientId)
  if (!sample) throw new Error(`no sample of ${clientId}`)
  const { counts, sum } = sample.value as Histogram
  return [counts[0], Number(sum.toFixed(6))]
}

t.test('the wait times of an agent are shown in seconds, and never decrease when it restarts', async t => {
  const peeks = openPeeks(quiet)
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

t.test('a histogram with decreased counts or other buckets is ignored', async t => {
  const reasons: unknown[] = []
  const warn = (_: string, __: string, fields?: object): void =>
    void reasons.push((fields as { reason: string }).reason)
  const peeks = openPeeks({ clock: fakeClock(0), log: { ...quiet.log, warn } })
  const agent = { clientId: 'edge', instanceId: 'a' }
  peeks.receive(agent, histogram(5, 50))

  const refused: readonly (readonly [client: string, peeks: Peeks])[] = [
    ['edge', histogram(4, 60)],
    ['edge', histogram(6, 40)],
    ['short', { counts: [9], sum_ms: 50 }],
    ['long', { counts: Array(30_000).fill(9), sum_ms: 50 }],
    ['endless', histogram(1, Number.MAX_VALUE)]
  ]

  for (const [clientId, bad] of refused) peeks.receive({ ...agent, clientId }, bad)

  t.same(await shown(peeks, 'edge'), [5, 0.05])
  t.equal([...((await peeks.metrics())[0]?.samples ?? [])].length, 1)
  t.same(reasons, ['amount', 'buckets', 'buckets', 'amount'])
})
