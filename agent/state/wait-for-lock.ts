import { setTimeout } from 'node:timers/promises'
import { Refused } from '../../kernel/wire/message.ts'
import { isLocked, lockWaitMs } from './state-database.ts'

const pauseMs = 20

/**
 * Runs `write`. While another process has locked the database, retries for 5 s; the event loop runs in between. Throws
 * Refused `state_locked` after that.
 */
export async function waitForLock(write: () => void): Promise<void> {
  for (const until = performance.now() + lockWaitMs; ; await setTimeout(pauseMs)) {
    try {
      return write()
    } catch (error) {
      if (!isLocked(error)) throw error
      if (performance.now() > until)
        throw new Refused('state_locked', "another process has locked the agent's state.db", { cause: error })
    }
  }
}
