import t from 'tap'
import { peekBoundsMs } from '../../../agent/engine/engine.ts'
import type {
  AgentCall,
  AgentField,
  ControlStream,
  EngineRuleDraft,
  RuleSpec
} from '../../../agent/plugin.ts'
import { fakeClock } from '../../../kit/fake-clock.ts'
import sni from '../agent.ts'
import { boundsMs } from '../wire.ts'

t.test('a rule is planned with its name, or as the fallback', async t => {
  const draft = { name: null, fallback: false } as unknown as EngineRuleDraft
  const [named, rest]: readonly AgentField[] = sni.fields

  named?.plan?.({ value: '*.example.org' }, draft, {} as RuleSpec)
  t.match(draft, { name: '*.example.org', fallback: false })
  rest?.plan?.({ value: true }, draft, {} as RuleSpec)
  t.match(draft, { fallback: true })
})

t.test('the full peek histogram is sent after a change, and again on the next stream', async t => {
  const clock = fakeClock()
  const sent: object[] = []
  let peeks = { counts: [...boundsMs.map(() => 0), 0], sumMs: 0 }
  const call = {
    clock,
    takeSample: () => ({ rules: [], meters: [], peekDurations: peeks })
  } as unknown as AgentCall
  const controller = new AbortController()
  const stream = {
    signal: controller.signal,
    send: (_: object, body: object) => void sent.push(body)
  } as unknown as ControlStream // the members that the plugin uses

  sni.connected(stream, call)
  await clock.advance(5000)
  t.same(sent, [])
  peeks = { counts: [2, ...boundsMs.map(() => 0)], sumMs: 0.1 }
  await clock.advance(10_000)
  t.same(sent, [{ counts: peeks.counts, sum_ms: 0.1 }])
  controller.abort()
  await clock.advance(10_000)
  sni.connected({ ...stream, signal: new AbortController().signal }, call)
  t.equal(sent.length, 2)
})

t.test('the buckets equal those of the engine', async t => {
  t.same(boundsMs, peekBoundsMs)
})
