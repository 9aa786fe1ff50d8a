import type { Preamble } from '../../engine/preamble.ts'
import type { RuleState } from '../rule-state.ts'
import { timeoutMs } from '../timeout-ms.ts'
import { dialTarget, type TargetSocket } from './connect-target.ts'

const probeLimitMs = 5_000

/** Closes a connected probe. Ignores errors of the target: it was reachable. */
export function endProbe(socket: TargetSocket, preamble: Preamble | null): void {
  socket.on('error', () => socket.destroy())
  if (preamble?.probe) socket.write(preamble.probe)
  socket.destroySoon()
}

/**
 * Connects to every target once per `probeMs` and disconnects. Without a descriptor for it, tries again after a random part
 * of `probeMs`, so that probes that began together do not exclude the same ones each time. Returns a function that ends the
 * probes.
 */
export function startHealthProbes(state: RuleState): () => void {
  const { probeMs, from } = state.rule
  const { share, targets } = state
  const inProgress = new Map<number, AbortController>() // by target
  const timers = new Map<number, NodeJS.Timeout>() // by target: its next probe

  const probeAfter = (ms: number, index: number): void => {
    timers.set(index, setTimeout(probe, timeoutMs(Math.ceil(ms)), index))
  }
  const probe = async (index: number): Promise<void> => {
    if (inProgress.has(index)) return probeAfter(probeMs, index)
    if (!share.reserveProbe()) return probeAfter(Math.random() * probeMs, index)
    probeAfter(probeMs, index)
    const controller = new AbortController()
    const limit = setTimeout(() => controller.abort('timeout'), probeLimitMs)
    const attempt = targets.health.attempt(index, 'probe')
    // `dialTarget` abandons an attempt that the signal aborts, but the time limit is a failure.
    const abandoned = () =>
      controller.signal.reason === 'timeout' ? attempt.failed('timeout') : attempt.abandoned()
    inProgress.set(index, controller)
    const outcome = await dialTarget({ ...attempt, abandoned }, state, {
      targets,
      listenPort: from,
      caller: null,
      signal: controller.signal
    })
    clearTimeout(limit)
    inProgress.delete(index)
    if ('socket' in outcome) {
      outcome.socket.once('close', () => share.releaseProbe())
      endProbe(outcome.socket, state.rule.preamble)
    } else share.releaseProbe()
  }
  if (probeMs <= 0) return () => {}
  for (const index of targets.targets.keys()) void probe(index)
  return () => {
    for (const timer of timers.values()) clearTimeout(timer)
    for (const controller of inProgress.values()) controller.abort()
  }
}
