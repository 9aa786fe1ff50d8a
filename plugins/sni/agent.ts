import { type AgentPlugin, defineField } from '../../agent/plugin.ts'
import { sniFallback, sniPattern } from './fields.ts'
import { messages, Peeks } from './wire.ts'

const reportEveryMs = 5_000

export default {
  name: 'sni',
  agent: '^1.5.0',
  messages,
  fields: [
    defineField({
      ...sniPattern,
      plan({ value: pattern }, draft) {
        draft.name = pattern
      }
    }),
    defineField({
      ...sniFallback,
      plan(_, draft) {
        draft.fallback = true
      }
    })
  ],
  connected(stream, { takeSample, clock }) {
    let lastReported = ''
    const report = (): void => {
      const { counts, sumMs } = takeSample().peekDurations
      const current = counts.join()
      if (current === lastReported || counts.every(count => count === 0)) return
      lastReported = current
      stream.send(Peeks, { counts: [...counts], sum_ms: sumMs })
    }
    stream.signal.addEventListener('abort', clock.every(reportEveryMs, report), { once: true })
    report()
  }
} satisfies AgentPlugin
