import type { Clock } from '../../kernel/base/clock.ts'
import type { ApplyResult } from '../../kernel/control/managed-objects.ts'
import type { Peer } from '../../kernel/control/peers.ts'

/** Which of an agent's words on a rule: on a push of it, or on its removal. */
export type About = `${'push' | 'remove'} ${string}`

export interface Waiting {
  /** The agent's next word, or null when it does not come in time or the stream has ended. */
  expect(about: About, peer: Peer, timeoutSecs: number): Promise<ApplyResult | null>
  tell(about: About, settlement: ApplyResult): void
}

/** Requests that wait for an agent; several may wait for the same word. */
export function openWaiting(clock: Pick<Clock, 'after'>): Waiting {
  const waiting = new Map<About, Set<(settlement: ApplyResult | null) => void>>()

  function leave(about: About, end: (settlement: ApplyResult | null) => void): void {
    const others = waiting.get(about)
    others?.delete(end)
    if (others?.size === 0) waiting.delete(about)
  }

  return {
    expect(about, { ended }, timeoutSecs) {
      if (ended.aborted) return Promise.resolve(null)
      return new Promise(resolve => {
        const end = (settlement: ApplyResult | null): void => {
          leave(about, end)
          cancel()
          ended.removeEventListener('abort', giveUp)
          resolve(settlement)
        }
        const giveUp = (): void => end(null)
        const cancel = clock.after(timeoutSecs * 1000, giveUp)
        ended.addEventListener('abort', giveUp, { once: true })
        waiting.set(about, (waiting.get(about) ?? new Set()).add(end))
      })
    },
    tell(about, settlement) {
      for (const end of [...(waiting.get(about) ?? [])]) end(settlement)
    }
  }
}
