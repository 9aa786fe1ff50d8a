// Looks for what other servers have done: at each signal of theirs, and every 2 s, which is what can be relied on.
import { setTimeout as pause } from 'node:timers/promises'
import { reasonOf } from '../../kernel/base/errors.ts'
import type { Kernel } from '../../kernel/plugin.ts'
import type { Signals } from '../../kernel/store/sql/database.ts'

interface Options extends Pick<Kernel, 'clock' | 'log'> {
  readonly signals: Signals
  readonly work: (isTick: boolean) => Promise<void>
}

const everyMs = 2000
export const ticksPerMinute = 60_000 / everyMs
const restMs = 5 // signals of several servers share a look

export function openPeerPoller({ clock, log, signals, work }: Options) {
  let running: Promise<void> | null = null
  let isWanted = false
  let isTick = false
  let hasFailed = false // so that an outage is logged once

  async function workAll(): Promise<void> {
    while (isWanted) {
      isWanted = false
      const isOfTick = isTick
      isTick = false
      try {
        await work(isOfTick)
        hasFailed = false
      } catch (error) {
        if (!hasFailed)
          log.warn('server.not_shown', `the other servers cannot be seen now: ${reasonOf(error)}`)
        hasFailed = true
      }
      if (isWanted) await pause(restMs)
    }
    running = null
  }

  /** Resolves when it has looked, which may have failed. */
  function now(): Promise<void> {
    isWanted = true
    running ??= workAll()
    return running
  }

  const stopListening = signals.onSignal(() => void now())
  const stopTicking = clock.every(everyMs, () => {
    isTick = true
    void now()
  })

  return {
    now,
    async close(): Promise<void> {
      stopListening()
      await stopTicking()
      isWanted = false
      await running
    }
  }
}
