import { type AgentPlugin, defineField } from '../../agent/plugin.ts'
import { capability, Fallback, fallbackKey, messages, Pattern, Peeks, patternKey } from './wire.ts'

const everyMs = 5_000

export default {
  name: 'sni',
  agent: '^1.0.0',
  capabilities: { [capability.id]: capability.since },
  messages,
  fields: [
    defineField({
      key: patternKey,
      message: Pattern,
      plan({ pattern }, draft) {
        draft.name = pattern
      }
    }),
    defineField({
      key: fallbackKey,
      message: Fallback,
      plan(_, draft) {
        draft.fallback = true
      }
    })
  ],
  connected(stream, { takeSample, clock }) {
    let told = ''
    const tell = (): void => {
      const { counts, sumMs } = takeSample().peekDurations
      const said = counts.join()
      if (said === told || counts.every(count => count === 0)) return
      told = said
      stream.send(Peeks, { counts: [...counts], sum_ms: sumMs })
    }
    stream.signal.addEventListener('abort', clock.every(everyMs, tell), { once: true })
    tell()
  }
} satisfies AgentPlugin
