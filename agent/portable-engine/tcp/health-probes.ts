import { tryOne } from './dialer.ts'
import { longestTimerMs } from './relay.ts'
import type { Gate } from './tcp-rule.ts'

const probeLimitMs = 5_000

/** Connects to every target now and then, and hangs up. Gives the call that ends it. */
export function openProbes(gate: Gate): () => void {
  const { targets, probeMs, from } = gate.rule
  const underWay = new Map<number, AbortController>()

  const probe = async (index: number) => {
    if (underWay.has(index)) return
    const ending = new AbortController()
    underWay.set(index, ending)
    const limit = setTimeout(() => ending.abort('late'), probeLimitMs)
    const { signal } = ending
    const attempt = gate.health.probe(index)
    const abandoned = () => (signal.reason === 'late' ? attempt.failed('timeout') : attempt.abandoned())
    const outcome = await tryOne({ ...attempt, abandoned }, gate, from, signal)
    clearTimeout(limit)
    underWay.delete(index)
    if ('socket' in outcome) outcome.socket.destroy()
  }
  const probeAll = () => {
    for (const index of targets.keys()) void probe(index)
  }
  if (probeMs <= 0) return () => {}
  const every = setInterval(probeAll, Math.min(probeMs, longestTimerMs))
  probeAll()
  return () => {
    clearInterval(every)
    for (const ending of underWay.values()) ending.abort()
  }
}
