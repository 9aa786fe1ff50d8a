// Polls the server each second for its change number. When the number changes, and after a reconnect, all visible queries
// are read again.

import { toApiError } from './api-error.ts'
import { call } from './call.ts'
import { handleAuthError, queryClient } from './query-client.ts'
import { onReturn, reportAnswer, reportLoss } from './reachability.ts'

const everyMs = 1000
const answerWithinMs = 800 // with the poll interval: a lost server is noticed within 2 s
const maxUnanswered = 3
const restShare = 4 // reading takes at most a fifth of the time

let last: number | null = null
let pages: string | null = null
let isOutdated = false

/** True if the server has a newer build of the pages. The next navigation loads it. */
export const isPageOutdated = (): boolean => isOutdated

/** Polls while the tab is visible. Before the sign-in it only checks that the server answers. */
export function watchServer(isSignedIn: boolean): () => void {
  let open = 0
  const poll = async (): Promise<void> => {
    if (document.hidden || open >= maxUnanswered) return
    open++
    const since = Date.now()
    const deadline = setTimeout(() => reportLoss(since), answerWithinMs)
    await (isSignedIn ? pollChanges() : pollLiveness(since))
    clearTimeout(deadline)
    open--
  }
  const timer = setInterval(poll, everyMs)
  const stop = onReturn(() => void rereadNow())
  document.addEventListener('visibilitychange', poll)
  void poll()
  return () => {
    clearInterval(timer)
    stop()
    document.removeEventListener('visibilitychange', poll)
  }
}

async function pollLiveness(since: number): Promise<void> {
  await fetch('/livez', { cache: 'no-store' }).then(reportAnswer, () => reportLoss(since))
}

async function pollChanges(): Promise<void> {
  try {
    const seen = await call('GET /v1/changes')
    isOutdated ||= pages !== null && seen.pages !== pages
    pages ??= seen.pages
    const isNew = last !== null && seen.last !== last
    last = seen.last
    if (isNew) void reread()
  } catch (thrown) {
    handleAuthError(toApiError(thrown))
  }
}

let isReading = false
let isRepeatNeeded = false

/** Reads visible queries again. Changes during a read cause one more read. */
async function reread(): Promise<void> {
  isRepeatNeeded = isReading
  if (isReading) return
  isReading = true
  do {
    isRepeatNeeded = false
    const began = performance.now()
    await rereadNow()
    const restMs = restShare * (performance.now() - began)
    await new Promise(resolve => setTimeout(resolve, Math.min(restMs, 30_000)))
  } while (isRepeatNeeded)
  isReading = false
}

/** Also restarts queries that wait for a retry. */
const rereadNow = (): Promise<void> => queryClient.invalidateQueries()
