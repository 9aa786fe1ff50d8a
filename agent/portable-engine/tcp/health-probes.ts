import type { Socket } from 'node:net'
import type { RuleState } from '../rule-state.ts'
import { timeoutMs } from '../timeout-ms.ts'
import { dialTarget } from './connect-target.ts'

const probeLimitMs = 5_000

/** Connects to every target once per `probeMs` and disconnects. Returns a function that ends the probes. */
export function startHealthProbes(state: RuleState): () => void {
  const { targets, probeMs, from } = state.rule
  const inProgress = new Map<number, AbortController>() // by target

  const probe = async (index: number) => {
    if (inProgress.has(index)) return
    const controller = new AbortController()
    const limit = setTimeout(() => controller.abort('timeout'), probeLimitMs)
    const attempt = state.health.probe(index)
    // `dialTarget` abandons an attempt that the signal aborts, but the time limit is a failure.
    const abandoned = () =>
      controller.signal.reason === 'timeout' ? attempt.failed('timeout') : attempt.abandoned()
    inProgress.set(index, controller)
    const outcome = await dialTarget({ ...attempt, abandoned }, state, from, controller.signal)
    clearTimeout(limit)
    inProgress.delete(index)
    if ('socket' in outcome) endProbe(outcome.socket)
  }
  /** Ignores errors of the target: it was reachable. */
  const endProbe = (socket: Socket) => {
    socket.on('error', () => socket.destroy())
    if (state.rule.preamble?.probe) socket.write(state.rule.preamble.probe)
    socket.destroySoon()
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
