import type { Clock } from '../../kernel/base/clock.ts'
import type { Settlement } from '../../kernel/control/held.ts'
import type { Peer } from '../../kernel/control/peers.ts'

/** Which of an agent's words on a rule: on a push of it, or on its removal. */
export type About = `${'push' | 'remove'} ${string}`

export interface Waiting {
  /** The agent's next word, or null when it does not come in time or the stream has ended. */
  expect(about: About, peer: Peer, timeoutSecs: number): Promise<Settlement | null>
  tell(about: About, settlement: Settlement): void
}

/** Requests that wait for an agent. */
export function openWaiting(clock: Pick<Clock, 'after'>): Waiting {
  const waiting = new Map<About, (settlement: Settlement | null) => void>()

  return {
    expect(about, { ended }, timeoutSecs) {
      if (ended.aborted) return Promise.resolve(null)
      return new Promise(resolve => {
        const end = (settlement: Settlement | null): void => {
          waiting.delete(about)
          cancel()
          ended.removeEventListener('abort', leave)
          resolve(settlement)
        }
        const leave = (): void => end(null)
        const cancel = clock.after(timeoutSecs * 1000, leave)
        ended.addEventListener('abort', leave, { once: true })
        waiting.set(about, end)
      })
    },
    tell: (about, settlement) => waiting.get(about)?.(settlement)
  }
}
