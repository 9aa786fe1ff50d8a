import type { Socket } from 'node:net'
import type { Preamble } from '../../engine/preamble.ts'
import type { RuleState } from '../rule-state.ts'
import { timeoutMs } from '../timeout-ms.ts'
import { dialTarget } from './connect-target.ts'

const probeLimitMs = 5_000

/** Closes a connected probe. Ignores errors of the target: it was reachable. */
export function endProbe(socket: Socket, preamble: Preamble | null): void {
  socket.on('error', () => socket.destroy())
  if (preamble?.probe) socket.write(preamble.probe)
  socket.destroySoon()
}

/** Connects to every target once per `probeMs` and disconnects. Returns a function that ends the probes. */
export function startHealthProbes(state: RuleState): () => void {
  const { targets, probeMs, from } = state.rule
  const inProgress = new Map<number, AbortController>() // by target

  const probe = async (index: number) => {
    if (inProgress.has(index)) return
    const controller = new AbortController()
    const limit = setTimeout(() => controller.abort('timeout'), probeLimitMs)
    const attempt = state.health.attempt(index, 'probe')
    // `dialTarget` abandons an attempt that the signal aborts, but the time limit is a failure.
    const abandoned = () =>
      controller.signal.reason === 'timeout' ? attempt.failed('timeout') : attempt.abandoned()
    inProgress.set(index, controller)
    const outcome = await dialTarget({ ...attempt, abandoned }, state, from, controller.signal)
    clearTimeout(limit)
    inProgress.delete(index)
    if ('socket' in outcome) endProbe(outcome.socket, state.rule.preamble)
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
