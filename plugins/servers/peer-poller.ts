// Polls the store for changes of peers: at each of their change signals, and every 2 s because a signal may be lost.
import { setTimeout as pause } from 'node:timers/promises'
import { reasonOf } from '../../kernel/base/errors.ts'
import type { Kernel } from '../../kernel/plugin.ts'
import type { Signals } from '../../kernel/store/sql/database.ts'

interface Options extends Pick<Kernel, 'clock' | 'log'> {
  readonly signals: Signals
  readonly poll: (isPeriodic: boolean) => Promise<void>
}

export interface PeerPoller {
  /** Polls now, or once more if a poll runs. Resolves when it has ended, also if it failed. */
  pollNow(): Promise<void>
  close(): Promise<void>
}

const everyMs = 2000
export const pollsPerMinute = 60_000 / everyMs
const restMs = 5 // signals of several peers share a poll

export function openPeerPoller({ clock, log, signals, poll }: Options): PeerPoller {
  let running: Promise<void> | null = null
  let isWanted = false
  let isPeriodic = false
  let hasFailed = false // so that an outage is logged once

  async function pollAll(): Promise<void> {
    while (isWanted) {
      const wasPeriodic = isPeriodic
      isWanted = false
      isPeriodic = false
      try {
        await poll(wasPeriodic)
        hasFailed = false
      } catch (error) {
        if (!hasFailed)
          log.warn('server.poll_failed', `changes of the other servers cannot be read: ${reasonOf(error)}`)
        hasFailed = true
      }
      if (isWanted) await pause(restMs)
    }
    running = null
  }

  function pollNow(): Promise<void> {
    isWanted = true
    running ??= pollAll()
    return running
  }

  const stopListening = signals.onSignal(() => void pollNow())
  const stopTimer = clock.every(everyMs, () => {
    isPeriodic = true
    void pollNow()
  })

  return {
    pollNow,
    async close(): Promise<void> {
      stopListening()
      await stopTimer()
      isWanted = false
      await running
    }
  }
}
