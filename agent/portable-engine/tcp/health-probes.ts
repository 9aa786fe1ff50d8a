import type { RuleState } from '../rule-state.ts'
import { timeoutMs } from '../timeout.ts'
import { dialTarget } from './dialer.ts'

const probeLimitMs = 5_000

/** Connects to every target once per `probeMs`, and hangs up. Returns the call that ends the probes. */
export function startHealthProbes(rule: RuleState): () => void {
  const { targets, probeMs, from } = rule.rule
  const inProgress = new Map<number, AbortController>() // by target

  const probe = async (index: number) => {
    if (inProgress.has(index)) return
    const controller = new AbortController()
    const { signal } = controller
    const limit = setTimeout(() => controller.abort('timeout'), probeLimitMs)
    const attempt = rule.health.probe(index)
    const abandoned = () => (signal.reason === 'timeout' ? attempt.failed('timeout') : attempt.abandoned())
    inProgress.set(index, controller)
    const outcome = await dialTarget({ ...attempt, abandoned }, rule, from, signal)
    clearTimeout(limit)
    inProgress.delete(index)
    if ('socket' in outcome) outcome.socket.destroy()
  }
  const probeAll = () => {
    for (const index of targets.keys()) void probe(index)
  }
  if (probeMs <= 0) return () => {}
  const timer = setInterval(probeAll, timeoutMs(probeMs))
  probeAll()
  return () => {
    clearInterval(timer)
    for (const controller of inProgress.values()) controller.abort()
  }
}
